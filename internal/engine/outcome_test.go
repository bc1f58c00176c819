package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/internal/audit"
	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/engine"
)

func outcomeOf(r *decisionv1.Response) decisionv1.Outcome {
	return decisionv1.Outcome{CallID: r.CallID, Audit: *r.Audit, Status: "ok", DurationMs: 5}
}

func refusedWith(err error) string {
	if e := (*engine.RefusedError)(nil); errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func TestOutcomesCloseTheirDecision(t *testing.T) {
	other := chain.Caller{Namespace: "team", ServiceAccount: "other"}
	for name, tc := range map[string]struct {
		caller chain.Caller
		change func(o *decisionv1.Outcome)
		code   string
		closes bool
	}{
		"the caller's own":                   {agent, func(*decisionv1.Outcome) {}, "", true},
		"another caller's":                   {other, func(*decisionv1.Outcome) {}, engine.CodeOutcomeUnknown, false},
		"another call's":                     {agent, func(o *decisionv1.Outcome) { o.CallID = "x" }, engine.CodeOutcomeUnknown, false},
		"of a decision made elsewhere":       {agent, func(o *decisionv1.Outcome) { o.Audit.Hash = "ff" }, "", false},
		"of a caller that no policy governs": {chain.Caller{Namespace: "x"}, func(o *decisionv1.Outcome) { o.Audit.Hash = "ff" }, engine.CodeNoPolicy, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := start(t, team())
			o := outcomeOf(h.ask(t, do("allow")))
			tc.change(&o)
			_, err := h.Outcome(t.Context(), tc.caller, o)
			if got := refusedWith(err); got != tc.code {
				t.Fatalf("refused with %q (%v), want %q", got, err, tc.code)
			}
			records := h.log.of(audit.KindOutcome)
			if tc.code != "" {
				if len(records) > 0 {
					t.Errorf("a refused outcome was recorded: %+v", records)
				}
				return
			}
			if len(records) != 1 || (records[0].Ref != nil) != tc.closes || (records[0].Extra["unverified"] == true) == tc.closes {
				t.Errorf("records %+v, closes is to be %v", records, tc.closes)
			}
		})
	}
}

func TestTheFirstOutcomeCounts(t *testing.T) {
	h := start(t, team())
	o := outcomeOf(h.ask(t, do("allow")))
	h.log.setBroken(true)
	if _, err := h.Outcome(t.Context(), agent, o); refusedWith(err) != engine.CodeAuditUnavailable {
		t.Fatalf("unrecorded outcome: %v", err)
	}
	h.log.setBroken(false)
	if _, err := h.Outcome(t.Context(), agent, o); err != nil {
		t.Fatalf("outcome after the log came back: %v", err)
	}
	if _, err := h.Outcome(t.Context(), agent, o); refusedWith(err) != engine.CodeOutcomeRepeated {
		t.Errorf("second outcome: %v", err)
	}
}

func TestADeniedCallHasNoOutcome(t *testing.T) {
	h := start(t, team())
	o := outcomeOf(h.ask(t, do("deny")))
	if _, err := h.Outcome(t.Context(), agent, o); err != nil {
		t.Fatal(err)
	}
	if r := h.log.of(audit.KindOutcome); len(r) != 1 || r[0].Ref != nil || r[0].Extra["unverified"] != true {
		t.Errorf("records %+v", r)
	}
}

func TestStrangersCannotFillTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, team())
		ctx, stop := context.WithCancel(t.Context())
		go h.Run(ctx)
		const attempts = 10_000
		for range attempts {
			expect(t, h.Refuse(t.Context(), nil, "request.syntax", "not JSON"), decisionv1.Deny, "request.syntax")
		}
		one := len(h.log.of(audit.KindDecision))
		if one == 0 || one > 1000 {
			t.Errorf("%d records of %d attempts", one, attempts)
		}
		time.Sleep(time.Minute)
		counted := int64(0)
		for _, r := range h.log.of(audit.KindDecision) {
			if by, ok := r.Extra["suppressed"].(map[string]any); ok {
				n, err := by["request.syntax"].(interface{ Int64() (int64, error) }).Int64()
				if err != nil {
					t.Fatal(err)
				}
				counted += n
			}
		}
		if int64(one)+counted != attempts {
			t.Errorf("%d recorded and %d counted of %d attempts", one, counted, attempts)
		}
		stop()
		synctest.Wait()
	})
}

func TestCallersHearOfTheirOwnCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, team())
		ctx, stop := context.WithCancel(t.Context())
		go h.Run(ctx)
		mine := h.Subscribe(ctx, agent)
		others := h.Subscribe(ctx, chain.Caller{Namespace: "team", ServiceAccount: "other"})
		synctest.Wait()
		h.ask(t, do("allow"))
		h.ask(t, do("deny"))
		asked := h.ask(t, do("ask"))
		h.approve(t, asked.Approval.ID)
		synctest.Wait()
		want := []string{decisionv1.EventDenied, decisionv1.EventAsk, decisionv1.EventResolved}
		for _, name := range want {
			e := <-mine
			if e.Name != name {
				t.Errorf("event %s, want %s", e.Name, name)
			}
			if name != decisionv1.EventDenied && e.Data.Approval.ID != asked.Approval.ID {
				t.Errorf("event %s is about %+v", name, e.Data.Approval)
			}
		}
		stop()
		synctest.Wait()
		if e, open := <-others; open {
			t.Errorf("another caller heard %s", e.Name)
		}
	})
}

func TestASubscriberThatLagsIsCutOffAndHoldsNobodyUp(t *testing.T) {
	h := start(t, team())
	events := h.Subscribe(t.Context(), agent)
	for range 200 {
		h.ask(t, do("deny"))
	}
	n := 0
	for range events {
		n++
	}
	if n == 0 || n >= 200 {
		t.Errorf("%d of 200 events before the end", n)
	}
}
