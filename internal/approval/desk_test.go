package approval_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/approval"
	"github.com/hookpolicy/hookpolicy/internal/chain"
)

var (
	agentA = chain.Caller{Namespace: "customer-a", ServiceAccount: "etl-agent"}
	agentB = chain.Caller{Namespace: "customer-b", ServiceAccount: "etl-agent"}

	errDisk = errors.New("disk is full")
)

// advance lets the bubble's time pass, and everything happen that it brings.
func advance(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// A journal records steps and can be told to fail.
type journal struct {
	mu    sync.Mutex
	steps []approval.Step
	fail  map[approval.StepKind]bool
}

func (j *journal) record(_ context.Context, s approval.Step) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.fail[s.Kind] {
		return errDisk
	}
	j.steps = append(j.steps, s)
	return nil
}

func (j *journal) failing(kinds ...approval.StepKind) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.fail = make(map[approval.StepKind]bool)
	for _, k := range kinds {
		j.fail[k] = true
	}
}

// kinds returns the kinds of the steps of one approval, of all if id is empty.
func (j *journal) kinds(id string) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var kinds []string
	for _, s := range j.steps {
		if id == "" || s.Approval.ID == id {
			kinds = append(kinds, string(s.Kind))
		}
	}
	return strings.Join(kinds, " ")
}

// A desk under test, with the clock and store that it was given.
type desk struct {
	*approval.Desk
	t       *testing.T
	journal *journal
	store   *flaky
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	store := &flaky{Store: approval.NewMemoryStore(approval.MemoryOptions{})}
	return deskOver(t, store, &journal{}, "replica-0", nil)
}

func deskOver(t *testing.T, store *flaky, j *journal, replica string, now func() time.Time) *desk {
	t.Helper()
	d, err := approval.New(approval.Options{Store: store, Record: j.record, Key: testKey, Replica: replica, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return &desk{Desk: d, t: t, journal: j, store: store}
}

// run starts the desk's Run for the time of the test.
func (d *desk) run() {
	ctx, cancel := context.WithCancel(d.t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { d.Run(ctx) })
	d.t.Cleanup(func() { cancel(); wg.Wait() })
}

// A flaky store fails when told to.
type flaky struct {
	approval.Store
	mu               sync.Mutex
	down, downUpdate bool
}

func (f *flaky) set(down, downUpdate bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down, f.downUpdate = down, downUpdate
}

func (f *flaky) broken(update bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down || update && f.downUpdate {
		return errors.New("connection refused")
	}
	return nil
}

func (f *flaky) Create(ctx context.Context, a approval.Approval) (approval.Approval, error) {
	if err := f.broken(true); err != nil {
		return approval.Approval{}, err
	}
	return f.Store.Create(ctx, a)
}

func (f *flaky) Get(ctx context.Context, id string) (approval.Approval, error) {
	if err := f.broken(false); err != nil {
		return approval.Approval{}, err
	}
	return f.Store.Get(ctx, id)
}

func (f *flaky) Update(ctx context.Context, a approval.Approval) (approval.Approval, error) {
	if err := f.broken(true); err != nil {
		return approval.Approval{}, err
	}
	return f.Store.Update(ctx, a)
}

func (f *flaky) List(ctx context.Context, filter approval.Filter) ([]approval.Approval, error) {
	if err := f.broken(false); err != nil {
		return nil, err
	}
	return f.Store.List(ctx, filter)
}

// request is a destructive call of agentA: five minutes to decide, five to use.
func request(changes ...func(*approval.Request)) approval.Request {
	r := approval.Request{
		Binding: approval.Binding{
			Tool: "db_query_sql", Args: map[string]any{"sql": "DELETE FROM orders WHERE id = 7"},
			Caller: agentA, Session: "s1", PolicyUID: "uid", ChainDigest: "chain", Hooks: []string{"no-accidents"},
		},
		DecisionID: "decision", Prompt: "DELETE on orders", Risk: chain.RiskHigh,
		Args:    map[string]any{"sql": "DELETE FROM orders WHERE id = 7"},
		Timeout: 5 * time.Minute, UseWithin: 5 * time.Minute, MinimumApprovers: 1, MaxPending: 20,
	}
	for _, change := range changes {
		change(&r)
	}
	return r
}

func sql(text string) func(*approval.Request) {
	return func(r *approval.Request) { r.Binding.Args = map[string]any{"sql": text} }
}

func by(c chain.Caller) func(*approval.Request) {
	return func(r *approval.Request) { r.Binding.Caller = c }
}

func naming(id string) func(*approval.Request) {
	return func(r *approval.Request) { r.Consent = approval.Consent{Confirmed: true, ID: id} }
}

func approvers(n int) func(*approval.Request) {
	return func(r *approval.Request) { r.MinimumApprovers = n }
}

// asks puts a request and checks the outcome.
func (d *desk) asks(want approval.Outcome, changes ...func(*approval.Request)) approval.Approval {
	d.t.Helper()
	got, err := d.Ask(d.t.Context(), request(changes...))
	if err != nil {
		d.t.Fatalf("ask: %v", err)
	}
	if got.Outcome != want {
		d.t.Fatalf("ask is %s, want %s", got.Outcome, want)
	}
	return got.Approval
}

func (d *desk) votes(id, user string, approve bool) (approval.Approval, error) {
	return d.Vote(d.t.Context(), id, approval.Vote{User: user, Approve: approve, Via: "test"})
}

func (d *desk) approves(id, user string) {
	d.t.Helper()
	if _, err := d.votes(id, user, true); err != nil {
		d.t.Fatalf("%s approves: %v", user, err)
	}
}

func (d *desk) rejects(id, user string) {
	d.t.Helper()
	if _, err := d.votes(id, user, false); err != nil {
		d.t.Fatalf("%s rejects: %v", user, err)
	}
}

func (d *desk) wantState(id string, want approval.State) {
	d.t.Helper()
	a, err := d.Get(d.t.Context(), id, agentA)
	if err != nil || a.State != want {
		d.t.Errorf("approval is %s (%v), want %s", a.State, err, want)
	}
}

func (d *desk) wantSteps(id, want string) {
	d.t.Helper()
	if got := d.journal.kinds(id); got != want {
		d.t.Errorf("recorded steps %q, want %q", got, want)
	}
}

func wantStateError(t *testing.T, err error, want approval.State) {
	t.Helper()
	e, ok := errors.AsType[*approval.StateError](err)
	if !ok || e.State != want {
		t.Errorf("error %v, want one that says %s", err, want)
	}
}
