package kube

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hookpolicy/hookpolicy/internal/plan"
)

func TestLastGoodPoliciesHaveAnAge(t *testing.T) {
	now := time.Now()
	for name, tc := range map[string]struct {
		at   time.Time
		want bool
	}{
		"a minute old":        {now.Add(-time.Minute), true},
		"a day old":           {now.Add(-maxStateAge), true},
		"older":               {now.Add(-maxStateAge - time.Second), false},
		"of a clock too far":  {now.Add(maxStateAhead + time.Second), false},
		"of a clock in front": {now.Add(time.Second), true},
		"of no time that is":  {time.Time{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := (&state{CurrentAt: tc.at}).usable(now); (err == nil) != tc.want {
				t.Errorf("usable: %v", err)
			}
		})
	}
}

func TestAStateIsReadAsItWasWritten(t *testing.T) {
	c := &compiler{binding: everything()}
	o := &object{Spec: json.RawMessage(`{"unlistedTools":"Ask"}`), ObjectMeta: metav1.ObjectMeta{
		Namespace: "team", Name: "p", UID: "u", Generation: 3, ResourceVersion: "9", CreationTimestamp: metav1.Unix(1_700_000_000, 0),
	}}
	good := c.entry(hookPolicies, o, nil)
	next := *o
	next.Generation, next.Spec = 4, json.RawMessage(`{"unlistedTools":"Perhaps <&>"}`)
	e := c.entry(hookPolicies, &next, good)
	if e.rejected == nil || e.segment != good.segment {
		t.Fatalf("entry %+v", e)
	}
	path := filepath.Join(t.TempDir(), "state")
	at := time.Now().UTC()
	if err := writeState(path, [kinds][]*entry{hookPolicies: {e}}, at); err != nil {
		t.Fatal(err)
	}
	s, err := readState(path)
	if err != nil || !s.CurrentAt.Equal(at) || len(s.Policies) != 1 || len(s.ClusterPolicies) != 0 {
		t.Fatalf("state %+v, %v", s, err)
	}
	got := newMemory(s).entry(c, hookPolicies, e.name)
	if got == nil || got.rejected == nil || got.latest.generation != 4 || got.good.generation != 3 {
		t.Fatalf("entry %+v", got)
	}
	if diff := cmp.Diff(good.segment, got.segment); diff != "" {
		t.Errorf("the good version has changed (-was +is):\n%s", diff)
	}
	for name, change := range map[string]func(string) string{
		"a byte changed": func(s string) string { return strings.Replace(s, "Ask", "Sky", 1) },
		"cut off":        func(s string) string { return s[:len(s)/2] },
		"empty":          func(string) string { return "" },
		"another version": func(string) string {
			return `{"state":{"version":2},"sha256":"5b4ab6a0bb2d5d4b8ab9b8a2ac2c1c6c1fa9d0c0a1fb3bb6ae4b1ecff4bd1a2c"}`
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			bad := filepath.Join(t.TempDir(), "state")
			if err := os.WriteFile(bad, []byte(change(string(b))), 0o600); err != nil {
				t.Fatal(err)
			}
			if s, err := readState(bad); err == nil {
				t.Errorf("a damaged state was read: %+v", s)
			}
		})
	}
	if s, err := readState(filepath.Join(t.TempDir(), "none")); s != nil || err != nil {
		t.Errorf("no file: %v, %v", s, err)
	}
}

func TestABrokenBaselineRefusesAndAReplacedPolicyHasNoPast(t *testing.T) {
	c := &compiler{binding: everything()}
	chp := &object{Spec: json.RawMessage(`{"hooks":[]}`), ObjectMeta: metav1.ObjectMeta{Name: "baseline", UID: "1", Generation: 1}}
	e := c.entry(clusterHookPolicies, chp, nil)
	if e.rejected == nil || e.segment.Refusal != plan.RefusalInvalid || !e.segment.IsBaseline() {
		t.Errorf("entry %+v, segment %+v", e, e.segment)
	}
	for name, spec := range map[string]string{
		"an unknown answer": `{"unlistedTools":"Perhaps","agents":{"serviceAccounts":["b","a"]}}`,
		"a type of its own": `{"unlistedTools":7}`,
		"no object":         `[]`,
	} {
		t.Run(name, func(t *testing.T) {
			o := &object{Spec: json.RawMessage(`{}`), ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "p", UID: "1", Generation: 1}}
			good := c.entry(hookPolicies, o, nil)
			o = &object{Spec: json.RawMessage(spec), ObjectMeta: o.ObjectMeta}
			o.Generation = 2
			if e := c.entry(hookPolicies, o, good); e.segment != good.segment || e.rejected == nil {
				t.Errorf("the last good version does not stay: %+v", e)
			}
			o.UID = "2"
			if e := c.entry(hookPolicies, o, good); e.segment.Refusal != plan.RefusalInvalid {
				t.Errorf("another policy of the name inherits: %+v", e.segment)
			}
		})
	}
}

func TestARelistKeepsWhatHasNotChangedAndDropsWhatIsGone(t *testing.T) {
	table, objects := fullTable(t)
	before := table.snapshot()
	table.replace(hookPolicies, objects[:many-1], "99")
	after := table.snapshot()
	if after.set.Len() != many-1 || after.inForce.Reached.HookPolicies != "99" {
		t.Errorf("%d policies, reached %s", after.set.Len(), after.inForce.Reached.HookPolicies)
	}
	for i, e := range before.lists[hookPolicies] {
		if i < many/2 && after.set.Lookup(e.name.Namespace, "x") != e.segment && e.name.Namespace != "tenant-9999" {
			t.Fatalf("%s was compiled again", e.name)
		}
	}
}

func TestAServiceTakesTheNamespacesThatItMay(t *testing.T) {
	own := types.NamespacedName{Namespace: "system", Name: "default"}
	for name, tc := range map[string]struct {
		binding    Binding
		scope      string
		takes, not string
	}{
		"the zero value but its name": {Binding{Service: own}, "system", "system", "team"},
		"the platform's":              {Binding{Service: own, PlatformNamespace: "system"}, "system", "system", "team"},
		"the platform's, for all":     {Binding{Service: own, PlatformNamespace: "system", AllNamespaces: true}, "", "team", ""},
		"the platform's, for some":    {Binding{Service: own, PlatformNamespace: "system", Namespaces: []string{"team"}}, "", "team", "other"},
		"a tenant's that claims all":  {Binding{Service: own, PlatformNamespace: "platform", AllNamespaces: true}, "system", "system", "team"},
	} {
		t.Run(name, func(t *testing.T) {
			b := tc.binding
			if b.scope() != tc.scope || !b.takes(tc.takes) || tc.not != "" && b.takes(tc.not) {
				t.Errorf("scope %q, takes %s: %v, takes %s: %v", b.scope(), tc.takes, b.takes(tc.takes), tc.not, b.takes(tc.not))
			}
		})
	}
}

func TestAnswersAreBoundedAndEnd(t *testing.T) {
	now := time.Now()
	c := newAnswers[int](2)
	key := func(i byte) (k [32]byte) { k[0] = i; return k }
	c.put(key(1), 1, now, now.Add(time.Second))
	c.put(key(2), 2, now, now.Add(time.Minute))
	if _, ok := c.get(key(1), now.Add(time.Second)); ok {
		t.Error("an answer that has ended is given")
	}
	c.put(key(3), 3, now.Add(time.Second), now.Add(time.Minute))
	if _, ok := c.get(key(2), now); !ok || len(c.known) != 2 {
		t.Errorf("what has ended should go first: %d answers", len(c.known))
	}
	c.put(key(4), 4, now, now.Add(time.Minute))
	if len(c.known) != 2 {
		t.Errorf("%d answers, 2 are the bound", len(c.known))
	}
}

func FuzzUnverified(f *testing.F) {
	for _, token := range []string{"", "a.b.c", "e30.e30.c2ln", "e30.eyJleHAiOjF9.c2ln", "e30.eyJleHAiOjFlMzA4fQ.", "..", "e30.bnVsbA.c2ln"} {
		f.Add(token)
	}
	f.Fuzz(func(t *testing.T, token string) {
		c, ok := unverified(token)
		if ok && strings.Count(token, ".") != 2 {
			t.Error("took what has not three parts")
		}
		if !c.ends.IsZero() && (!ok || c.ends.Before(time.Unix(0, 0))) {
			t.Errorf("ends at %s", c.ends)
		}
	})
}

func everything() Binding {
	service := types.NamespacedName{Namespace: "system", Name: "default"}
	return Binding{Service: service, Default: service, PlatformNamespace: "system", AllNamespaces: true}
}
