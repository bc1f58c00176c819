package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	ac "github.com/hookpolicy/hookpolicy/api/v1alpha1/applyconfiguration/api/v1alpha1"
)

// When reports are written.
const (
	reportEvery = time.Second // at most
	// repeatEvery is how often an unchanged report is written again, in case
	// somebody made the object anew. It changes nothing where nobody did.
	repeatEvery   = time.Minute
	reportTimeout = 5 * time.Second
	retryReport   = 10 * time.Second // at most, from reportEvery upwards
)

// fieldOwner owns the status of a DecisionReplica.
const fieldOwner = "hookpolicy-replica"

// A Reporter writes the status of one DecisionReplica.
type Reporter struct {
	client    *Client
	replica   types.NamespacedName
	startedAt metav1.Time
	log       *slog.Logger
	wake      chan struct{}

	mu     sync.Mutex
	latest *InForce
	votes  v1alpha1.VotesGuard
}

// NewReporter returns a reporter for the DecisionReplica of that name, which
// somebody else makes. startedAt is when this process began.
func NewReporter(c *Client, replica types.NamespacedName, startedAt time.Time, log *slog.Logger) *Reporter {
	return &Reporter{
		client: c, replica: replica, startedAt: metav1.NewTime(startedAt), log: log, wake: make(chan struct{}, 1),
	}
}

// Set says what is in force now. It does not block.
func (r *Reporter) Set(f InForce) {
	r.mu.Lock()
	r.latest = &f
	r.mu.Unlock()
	r.signal()
}

// SetVotes says whether votes are guarded, as a Guard found. It does not block.
func (r *Reporter) SetVotes(guarded bool) {
	r.mu.Lock()
	r.votes = v1alpha1.VotesUnguarded
	if guarded {
		r.votes = v1alpha1.VotesGuarded
	}
	r.mu.Unlock()
	r.signal()
}

func (r *Reporter) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Run writes what Set says until ctx is done.
func (r *Reporter) Run(ctx context.Context) {
	repeat := time.NewTicker(repeatEvery)
	defer repeat.Stop()
	pause, told := reportEvery, false
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		case <-repeat.C:
		}
		err := r.write(ctx)
		switch {
		case err == nil:
			pause, told = reportEvery, false
		case ctx.Err() != nil:
			return
		default:
			level := slog.LevelDebug
			if !told && !apierrors.IsNotFound(err) { // the controller makes the object soon
				level, told = slog.LevelWarn, true
			}
			r.log.LogAttrs(ctx, level, "Policies in force cannot be reported", slog.Any("error", err))
			r.signal()
		}
		if !sleep(ctx, pause) {
			return
		}
		if err != nil {
			pause = min(pause*3/2, retryReport)
		}
	}
}

// write applies the status as it is now. An apply that changes nothing writes
// nothing, and one that leaves a field out clears it.
func (r *Reporter) write(ctx context.Context) error {
	r.mu.Lock()
	latest, votes := r.latest, r.votes
	r.mu.Unlock()
	if latest == nil {
		return nil
	}
	body, err := json.Marshal(ac.DecisionReplica(r.replica.Name, r.replica.Namespace).WithStatus(r.status(latest, votes)))
	if err != nil {
		return fmt.Errorf("encode the report: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	err = r.client.policies.Patch(types.ApplyYAMLPatchType).
		Namespace(r.replica.Namespace).Resource(resourceDecisionReplicas).Name(r.replica.Name).SubResource("status").
		VersionedParams(&metav1.PatchOptions{FieldManager: fieldOwner, Force: new(true)}, metav1.ParameterCodec).
		Body(body).Do(ctx).Error()
	if err != nil {
		return fmt.Errorf("apply the status of the DecisionReplica: %w", err)
	}
	return nil
}

func (r *Reporter) status(f *InForce, votes v1alpha1.VotesGuard) *ac.DecisionReplicaStatusApplyConfiguration {
	s := ac.DecisionReplicaStatus().
		WithReached(ac.ReachedVersions().
			WithHookPolicies(f.Reached.HookPolicies).WithClusterHookPolicies(f.Reached.ClusterHookPolicies)).
		WithSetDigest(f.SetDigest).WithPolicies(int32(f.Policies)).WithStartedAt(r.startedAt)
	if votes != "" {
		s = s.WithVotes(votes)
	}
	for _, p := range f.Rejected {
		s = s.WithRejected(rejected(p))
	}
	return s
}

func rejected(p v1alpha1.RejectedPolicy) *ac.RejectedPolicyApplyConfiguration {
	a := ac.RejectedPolicy().WithName(p.Name).WithGeneration(p.Generation)
	if p.Namespace != "" {
		a = a.WithNamespace(p.Namespace)
	}
	return a
}
