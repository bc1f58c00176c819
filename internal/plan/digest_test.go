package plan_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/plan"
)

// provenance are the fields that say where a plan came from.
var provenance = map[string]bool{"UID": true, "Generation": true, "Created": true}

// full returns a plan in which every field holds something, and every slice two
// elements, so that no field is forgotten when plans grow.
func full() *plan.Plan {
	var p plan.Plan
	n := 0
	fill(reflect.ValueOf(&p).Elem(), &n)
	return &p
}

func fill(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(int64(*n), 0)))
			return
		}
		for _, field := range v.Fields() {
			fill(field, n)
		}
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d", *n))
	case reflect.Int32, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Bool:
		v.SetBool(true)
	default:
		panic(fmt.Sprintf("a plan holds a %s: teach the test to change it", v.Kind()))
	}
}

// eachChange calls f once for every change of one thing in the plan, and takes
// the change back. Its name is the field's, its path says where it stands.
func eachChange(v reflect.Value, path, name string, f func(path, name string)) {
	old := reflect.New(v.Type()).Elem()
	old.Set(v)
	change := func(what string, to reflect.Value) {
		v.Set(to)
		f(path+what, name)
		v.Set(old)
	}
	switch v.Kind() {
	case reflect.Pointer:
		change(" removed", reflect.Zero(v.Type()))
		eachChange(v.Elem(), path, name, f)
	case reflect.Slice:
		change(" emptied", reflect.Zero(v.Type()))
		change(" cut", v.Slice(0, 1))
		swapped := reflect.MakeSlice(v.Type(), 2, 2)
		swapped.Index(0).Set(v.Index(1))
		swapped.Index(1).Set(v.Index(0))
		change(" reordered", swapped)
		for i := range v.Len() {
			eachChange(v.Index(i), fmt.Sprintf("%s[%d]", path, i), name, f)
		}
	case reflect.Struct:
		if t, ok := reflect.TypeAssert[time.Time](v); ok {
			change(" changed", reflect.ValueOf(t.Add(time.Second)))
			return
		}
		for i := range v.NumField() {
			field := v.Type().Field(i).Name
			eachChange(v.Field(i), path+"."+field, field, f)
		}
	case reflect.String:
		change(" changed", reflect.ValueOf(v.String()+"'").Convert(v.Type()))
		change(" emptied", reflect.Zero(v.Type()))
	case reflect.Bool:
		change(" turned", reflect.ValueOf(!v.Bool()))
	default:
		change(" changed", reflect.ValueOf(v.Int()+1).Convert(v.Type()))
		change(" zeroed", reflect.Zero(v.Type()))
	}
}

func TestEveryChangeOfMeaningAndNoOtherChangesTheDigest(t *testing.T) {
	p := full()
	original := p.Digest()
	seen := map[string]string{original: "the plan itself"}
	changes := 0
	eachChange(reflect.ValueOf(p).Elem(), "plan", "", func(path, name string) {
		changes++
		digest := p.Digest()
		if provenance[name] {
			if digest != original {
				t.Errorf("%s: the digest changes", path)
			}
			return
		}
		if other, ok := seen[digest]; ok {
			t.Errorf("%s: the digest is that of %s", path, other)
		}
		seen[digest] = path
	})
	if changes < 100 || p.Digest() != original {
		t.Fatalf("%d changes tried, or one was not taken back", changes)
	}
}

func TestEveryChangeOfASegmentReachesTheDigestOfTheSet(t *testing.T) {
	s := full().Tenant
	digests := func() [2]string {
		return [2]string{plan.NewSet([]*plan.Segment{s}, nil).Digest(), plan.NewSet(nil, []*plan.Segment{s}).Digest()}
	}
	original := digests()
	eachChange(reflect.ValueOf(s).Elem(), "segment", "", func(path, name string) {
		for i, digest := range digests() {
			if (digest == original[i]) != provenance[name] {
				t.Errorf("%s: digest of the set changed %t", path, digest != original[i])
			}
		}
	})
}

func TestEqualPlansHaveEqualDigests(t *testing.T) {
	a, b := full(), full()
	if a.Digest() != b.Digest() || a.Tenant.Digest() != b.Tenant.Digest() {
		t.Error("plans built alike differ")
	}
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	var read plan.Plan
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	if read.Digest() != a.Digest() {
		t.Error("a plan that was written and read differs")
	}
}

// Nil and empty lists mean the same.
func TestAnEmptyListHasTheDigestOfNoList(t *testing.T) {
	for _, pair := range [][2]plan.Hook{
		{{Tools: nil}, {Tools: []string{}}},
		{{Guards: nil}, {Guards: []plan.Guard{}}},
		{{Guards: []plan.Guard{{}}}, {Guards: []plan.Guard{{Judged: []string{}, Data: []plan.Datum{}}}}},
		{{PathAllowlist: &plan.PathAllowlist{}}, {PathAllowlist: &plan.PathAllowlist{Roots: []string{}}}},
		{{Rewrite: &plan.Rewrite{}}, {Rewrite: &plan.Rewrite{Set: []plan.Assignment{}, Remove: []string{}}}},
	} {
		a, b := plan.Segment{Hooks: pair[:1]}, plan.Segment{Hooks: pair[1:]}
		if a.Digest() != b.Digest() {
			t.Errorf("%+v and %+v differ", pair[0], pair[1])
		}
	}
	if (&plan.Segment{}).Digest() != (&plan.Segment{Hooks: []plan.Hook{}, ServiceAccounts: []string{}}).Digest() {
		t.Error("segments without hooks differ")
	}
}

func TestDigestsOfDifferentThingsNeverMeet(t *testing.T) {
	s := full().Tenant
	digests := map[string]bool{}
	for _, d := range []string{
		(&plan.Plan{}).Digest(), (&plan.Plan{Tenant: s}).Digest(), (&plan.Plan{Baseline: []*plan.Segment{s}}).Digest(),
		s.Digest(), (&plan.Segment{}).Digest(), plan.NewSet(nil, nil).Digest(), plan.NewSet(nil, []*plan.Segment{s}).Digest(),
	} {
		if digests[d] || !strings.HasPrefix(d, "sha256:") || len(d) != len("sha256:")+64 {
			t.Errorf("digest %s", d)
		}
		digests[d] = true
	}
}

func TestTextsThatCouldBeConfusedHaveTheirOwnDigests(t *testing.T) {
	seen := map[string]string{}
	for _, text := range []string{"", "a", "a\u0000", `a"`, "<", `\u003c`, "\u2028", "\ufffd"} {
		d := (&plan.Segment{Source: plan.Source{Name: text}}).Digest()
		if other, ok := seen[d]; ok {
			t.Errorf("%q has the digest of %q", text, other)
		}
		seen[d] = text
	}
}

func BenchmarkDigest(b *testing.B) {
	p := full()
	b.ReportAllocs()
	for b.Loop() {
		p.Digest()
	}
}
