package approval_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/hookpolicy/hookpolicy/internal/approval"
	"github.com/hookpolicy/hookpolicy/internal/chain"
)

// elsewhere names the given cases that this package cannot decide, and why.
var elsewhere = map[string]string{
	"appr-binding-012":       "the chain denies before anybody asks for an approval",
	"appr-binding-013":       "connectors are not known here; what the policy says of them is in the chain digest",
	"appr-replay-scope-004":  "who may vote under a policy is checked before Vote",
	"appr-self-approval-008": "the chain guards the policy's files",
	"appr-timeout-007":       "there is no channel to lose: people come to the desk",
	"appr-timeout-011":       "who could vote is not known here; such a call times out",
}

type call struct {
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"`
}

type step struct {
	At    string `json:"at"`
	Actor string `json:"actor"`
	Do    string `json:"do"`
	ID    string `json:"id"`
	As    string `json:"as"`
	Call  *call  `json:"call"`
	Want  string `json:"expect"`
}

type givenCase struct {
	ID       string `json:"id"`
	Category string `json:"category"`
	Call     struct {
		call
		At     string `json:"at"`
		Caller string `json:"caller"`
	} `json:"call"`
	Expect     string   `json:"expect"`
	Defensible []string `json:"also_defensible"`
	Setup      struct {
		Steps  json.RawMessage `json:"steps"`
		Render string          `json:"render"`
	} `json:"setup"`
}

func givenCases(t *testing.T, categories ...string) []givenCase {
	t.Helper()
	text, err := os.ReadFile("../../test/cases/approvals.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var cases []givenCase
	for line := range bytes.Lines(text) {
		var c givenCase
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		if slices.Contains(categories, c.Category) {
			cases = append(cases, c)
		}
	}
	return cases
}

func TestGivenCases(t *testing.T) {
	ran := 0
	for _, c := range givenCases(t, "binding", "replay-scope", "self-approval", "timeout", "concurrency") {
		t.Run(c.ID, func(t *testing.T) {
			if why := elsewhere[c.ID]; why != "" {
				t.Skip(why)
			}
			ran++
			base := time.Now() // outside the bubble, which has no monotonic clock
			synctest.Test(t, func(t *testing.T) { newPlay(t, base).play(c) })
		})
	}
	if ran < 20 {
		t.Errorf("only %d cases ran", ran)
	}
}

// A play is one case on a desk whose wall clock can be set.
type play struct {
	t       *testing.T
	base    time.Time
	start   time.Time
	wallSet atomic.Int64 // a time.Duration
	desk    *desk
	ids     map[string]string // the case's names of approvals
	timeout time.Duration
	inLine  map[string]<-chan released // by canonical call
}

func newPlay(t *testing.T, base time.Time) *play {
	p := &play{
		t: t, base: base, start: time.Now(), timeout: 5 * time.Minute,
		ids: make(map[string]string), inLine: make(map[string]<-chan released),
	}
	p.restart()
	return p
}

func (p *play) now() time.Time {
	return setWall(p.t, p.base.Add(time.Since(p.start)), time.Duration(p.wallSet.Load()))
}

func (p *play) restart() {
	store := &flaky{Store: approval.NewMemoryStore(approval.MemoryOptions{Now: p.now})}
	p.desk = deskOver(p.t, store, &journal{}, "", p.now)
	p.desk.run()
}

func (p *play) play(c givenCase) {
	var steps []step
	if len(c.Setup.Steps) > 0 {
		if err := json.Unmarshal(c.Setup.Steps, &steps); err != nil {
			p.t.Fatal(err)
		}
	}
	for _, s := range steps {
		p.until(s.At)
		p.step(s)
	}
	p.until(c.Call.At)
	got := p.answer(c.Call.call, c.Call.Caller)
	if got != c.Expect && !slices.Contains(c.Defensible, got) {
		p.t.Errorf("answer %s, want %s", got, c.Expect)
	}
	p.epilogue(c)
}

func (p *play) until(at string) {
	if at == "" {
		return
	}
	d, err := time.ParseDuration(at)
	if err != nil {
		p.t.Fatal(err)
	}
	advance(max(0, d-time.Since(p.start)))
}

func (p *play) step(s step) {
	p.t.Helper()
	person := strings.TrimPrefix(s.Actor, "human ")
	switch {
	case s.Do == "decide":
		ruling, got := p.ask(*s.Call, s.Actor)
		if s.Want != "" && got != s.Want {
			p.t.Fatalf("step answers %s, want %s", got, s.Want)
		}
		p.ids[s.As] = ruling.Approval.ID
		p.inLine[p.name(*s.Call)] = p.desk.waits(p.t.Context(), ruling.Approval.ID)
	case s.Do == "approve" || s.Do == "deny":
		_, _ = p.desk.votes(p.ids[s.ID], person, s.Do == "approve") // whether it counts shows in the answer
	case s.Do == "approve twice at once":
		var mu sync.Mutex
		var errs []error
		together(2, func(int) {
			_, err := p.desk.votes(p.ids["A1"], "alice", true)
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		})
		if (errs[0] == nil) == (errs[1] == nil) {
			p.t.Errorf("two clicks: %v", errs)
		}
	case s.Do == "same call at the same moment":
		p.race()
	case s.Do == "restart service":
		p.restart()
	case s.Do == "open 10,000 AskUser calls":
		for i := range 10_000 {
			p.ask(call{Tool: "db_query_sql", Args: json.RawMessage(fmt.Sprintf(`{"sql":"DELETE FROM t WHERE id = %d"}`, i))}, s.Actor)
		}
	case s.Do == "wall clock set back one day":
		p.wallSet.Store(int64(-24 * time.Hour))
	case s.Do == "approval_timeout: -1":
		p.timeout = -1
	case strings.HasPrefix(s.Do, "time-out"): // time has passed already
	default:
		p.t.Fatalf("unknown step %q", s.Do)
	}
}

// race puts the approved call to two replicas at one moment: one may pass.
func (p *play) race() {
	other := deskOver(p.t, p.desk.store, p.desk.journal, "replica-2", p.now)
	desks, passed := []*desk{p.desk, other}, make([]bool, 2)
	together(2, func(i int) {
		r := p.request(call{Tool: "db_query_sql", Args: json.RawMessage(`{"sql":"DELETE FROM orders WHERE id = 7"}`)}, "")
		ruling, err := desks[i].Ask(p.t.Context(), r)
		passed[i] = err == nil && ruling.Outcome == approval.Passed
	})
	if passed[0] == passed[1] {
		p.t.Errorf("two replicas at once: passed %v", passed)
	}
}

// request makes the request of a call; actors are "agent SESSION TENANT".
func (p *play) request(c call, actor string) approval.Request {
	rest, consent := approval.TakeConsent(parseArgs(p.t, string(c.Args)))
	caller, session := chain.Caller{Namespace: "tenant-a", ServiceAccount: "agent"}, "S1"
	if words := strings.Fields(actor); len(words) == 3 {
		session, caller.Namespace = words[1], words[2]
	}
	return request(by(caller), func(r *approval.Request) {
		r.Binding.Tool, r.Binding.Args, r.Binding.Session = c.Tool, rest, session
		r.Consent, r.Timeout = consent, p.timeout
	})
}

func (p *play) ask(c call, actor string) (approval.Ruling, string) {
	ruling, err := p.desk.Ask(p.t.Context(), p.request(c, actor))
	switch {
	case err == nil && ruling.Outcome == approval.Passed:
		return ruling, "Allow"
	case err == nil && ruling.Outcome == approval.Held:
		return ruling, "AskUser"
	default:
		return ruling, "Deny"
	}
}

// answer is what the case's call gets: the very call that waits in line is
// answered when its wait ends, any other now.
func (p *play) answer(c call, actor string) string {
	if wait := p.inLine[p.name(c)]; wait != nil {
		if got := <-wait; got.err != nil || got.State != approval.Approved {
			return "Deny"
		}
	}
	_, got := p.ask(c, actor)
	return got
}

func (p *play) name(c call) string { return c.Tool + string(c.Args) }

// epilogue checks what a case says beyond its call's answer.
func (p *play) epilogue(c givenCase) {
	approved := call{Tool: "db_query_sql", Args: json.RawMessage(`{"sql":"DELETE FROM orders WHERE id = 7","confirm_destructive":true}`)}
	switch c.ID {
	case "appr-replay-scope-003": // "do not burn the owner's approval"
		if _, got := p.ask(approved, ""); got != "Allow" {
			p.t.Errorf("the owner's approval is gone: %s", got)
		}
	case "appr-concurrency-004": // "one approval serves exactly one"
		if _, got := p.ask(approved, ""); got != "AskUser" {
			p.t.Errorf("one approval served twice: %s", got)
		}
	}
}

func TestGivenPromptsShowTheirBytes(t *testing.T) {
	for _, c := range givenCases(t, "prompt-integrity") {
		t.Run(c.ID, func(t *testing.T) {
			if c.Setup.Render == "" {
				t.Skip("names no rendering: tool names, descriptions and secrets are not this package's")
			}
			text := parseArgs(t, string(c.Call.Args))["sql"].(string)
			shown := approval.Safe(text, approval.MaxDetail)
			for _, r := range shown {
				if !unicode.IsPrint(r) {
					t.Errorf("%q shows %U", shown, r)
				}
			}
			if !strings.Contains(shown, "DELETE FROM orders") || len(shown) > 300 {
				t.Errorf("what the call does is out of sight: %q", shown)
			}
			if short := approval.Safe(strings.Repeat(text, 1000), 200); !strings.HasSuffix(short, "characters in all]") {
				t.Errorf("length is not shown: %q", short)
			}
		})
	}
}
