package plan_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookpolicy/hookpolicy/internal/plan"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// tenant makes a segment that was created so many minutes after the epoch.
func tenant(namespace, name string, minutes int, serviceAccounts ...string) *plan.Segment {
	return &plan.Segment{
		Source: plan.Source{
			Namespace: namespace, Name: name, UID: namespace + name, Generation: 1,
			Created: epoch.Add(time.Duration(minutes) * time.Minute),
		},
		ServiceAccounts: serviceAccounts,
	}
}

func TestLookupPrefersNamedServiceAccountsThenTheOlderThenTheName(t *testing.T) {
	for name, tc := range map[string]struct {
		tenants []*plan.Segment
		want    string
	}{
		"nobody":                                    {nil, ""},
		"another namespace":                         {[]*plan.Segment{tenant("b", "x", 0)}, ""},
		"another ServiceAccount":                    {[]*plan.Segment{tenant("a", "x", 0, "other")}, ""},
		"the whole namespace":                       {[]*plan.Segment{tenant("a", "x", 0)}, "a/x"},
		"a named ServiceAccount":                    {[]*plan.Segment{tenant("a", "x", 0, "other", "agent")}, "a/x"},
		"named beats the namespace, though younger": {[]*plan.Segment{tenant("a", "x", 0), tenant("a", "y", 5, "agent")}, "a/y"},
		"named elsewhere leaves it the namespace's": {[]*plan.Segment{tenant("a", "x", 5), tenant("a", "y", 0, "other")}, "a/x"},
		"the older of two for the namespace":        {[]*plan.Segment{tenant("a", "x", 5), tenant("a", "y", 0)}, "a/y"},
		"the older of two named":                    {[]*plan.Segment{tenant("a", "x", 5, "agent"), tenant("a", "y", 0, "agent")}, "a/y"},
		"the name where the age is the same":        {[]*plan.Segment{tenant("a", "y", 0), tenant("a", "x", 0)}, "a/x"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if s := plan.NewSet(nil, tc.tenants).Lookup("a", "agent"); s != nil {
				got = s.Source.Tenant()
			}
			if got != tc.want {
				t.Errorf("governed by %q, want %q", got, tc.want)
			}
		})
	}
}

// Whatever the order in which policies arrive: the set is the same, whoever is
// governed is governed by a policy that selects it and that no other one
// precedes, and a policy's removal changes nobody else's.
func TestLookupLaws(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	namespaces, accounts := []string{"a", "b"}, []string{"p", "q", "r"}
	for range 200 {
		tenants := make([]*plan.Segment, random.IntN(8))
		for i := range tenants {
			var named []string
			for _, sa := range accounts {
				if random.IntN(3) == 0 {
					named = append(named, sa)
				}
			}
			tenants[i] = tenant(namespaces[random.IntN(2)], fmt.Sprintf("n%d", i), random.IntN(3), named...)
		}
		set := plan.NewSet(nil, tenants)
		shuffled := slices.Clone(tenants)
		random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if other := plan.NewSet(nil, shuffled); other.Digest() != set.Digest() || !slices.Equal(other.Tenants(), set.Tenants()) {
			t.Fatal("the order of arrival matters")
		}
		for _, ns := range namespaces {
			for _, sa := range accounts {
				checkLookup(t, set, ns, sa)
			}
		}
	}
}

func checkLookup(t *testing.T, set *plan.Set, ns, sa string) {
	t.Helper()
	winner := set.Lookup(ns, sa)
	for _, s := range set.Tenants() {
		if s.Source.Namespace != ns || !s.Governs(sa) {
			if s == winner {
				t.Fatalf("%s/%s is governed by %s, which does not select it", ns, sa, s.Source.Tenant())
			}
			continue
		}
		if winner == nil {
			t.Fatalf("%s/%s is selected by %s and governed by nobody", ns, sa, s.Source.Tenant())
		}
		if s == winner {
			continue
		}
		named, winnerNamed := len(s.ServiceAccounts) > 0, len(winner.ServiceAccounts) > 0
		if named && !winnerNamed || named == winnerNamed && s.Source.Created.Before(winner.Source.Created) {
			t.Fatalf("%s/%s is governed by %s, though %s precedes", ns, sa, winner.Source.Tenant(), s.Source.Tenant())
		}
		rest := slices.DeleteFunc(slices.Clone(set.Tenants()), func(o *plan.Segment) bool { return o == s })
		if plan.NewSet(nil, rest).Lookup(ns, sa) != winner {
			t.Fatalf("without %s another policy governs %s/%s", s.Source.Tenant(), ns, sa)
		}
	}
}

func TestBaselinesRunByPriorityThenName(t *testing.T) {
	baseline := func(name string, priority int32) *plan.Segment {
		return &plan.Segment{Source: plan.Source{Name: name, Priority: priority}}
	}
	given := []*plan.Segment{baseline("c", 1), baseline("b", 1), baseline("z", -5), baseline("a", 2)}
	set := plan.NewSet(given, []*plan.Segment{tenant("a", "x", 0)})
	var got []string
	for _, s := range set.Baseline() {
		if !s.IsBaseline() {
			t.Errorf("%s is no baseline", s.Source.Name)
		}
		got = append(got, s.Source.Tenant())
	}
	if diff := cmp.Diff([]string{"z", "b", "c", "a"}, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if given[0].Source.Name != "c" || set.Len() != 5 {
		t.Errorf("the caller's slice was sorted, or %d policies are not 5", set.Len())
	}
}

func TestAPlanRunsItsBaselineFirst(t *testing.T) {
	base, own := &plan.Segment{Source: plan.Source{Name: "base"}}, tenant("a", "x", 0)
	if got := (&plan.Plan{Baseline: []*plan.Segment{base}, Tenant: own}).Segments(); !slices.Equal(got, []*plan.Segment{base, own}) {
		t.Errorf("segments %v", got)
	}
	if got := (&plan.Plan{Baseline: []*plan.Segment{base}}).Segments(); !slices.Equal(got, []*plan.Segment{base}) {
		t.Errorf("segments %v without a tenant", got)
	}
}

func TestGuardOfKnowsExactNamesOnly(t *testing.T) {
	h := plan.Hook{Guards: []plan.Guard{{Tool: "a"}, {Tool: "b"}}, TimeoutMilliseconds: 1500}
	if g := h.GuardOf("b"); g != &h.Guards[1] {
		t.Errorf("guard %v", g)
	}
	if g := h.GuardOf("B"); g != nil {
		t.Errorf("guard %v of a tool that is not guarded", g)
	}
	if h.Timeout() != 1500*time.Millisecond {
		t.Errorf("time-out %v", h.Timeout())
	}
}

func BenchmarkLookup(b *testing.B) {
	for _, n := range []int{1, 10_000} {
		tenants := make([]*plan.Segment, n)
		for i := range tenants {
			tenants[i] = tenant(fmt.Sprintf("ns-%d", i), "policy", i, "agent")
		}
		set := plan.NewSet(nil, tenants)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				set.Lookup("ns-0", "agent")
			}
		})
	}
}
