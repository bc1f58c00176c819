package kube

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const many = 10_000

// manyObjects are policies with three hooks each, as an API server sends them.
func manyObjects() []*object {
	spec := json.RawMessage(`{"approvals":{"approvers":{"minimum":1},"consent":"Human","maxPending":20,"timeoutSeconds":{"high":300,"medium":300},"useWithinSeconds":300},"audit":{"onFailure":"Deny"},"enforcement":"Enforce","hooks":[` +
		`{"failurePolicy":"Fail","name":"stay-in-the-data","pathAllowlist":{"roots":["/data/customer-a"]},"timeoutMilliseconds":1000},` +
		`{"destructiveSQL":{"maxBytes":32768,"unknownFunctions":"Ask"},"failurePolicy":"Fail","name":"no-accidents","timeoutMilliseconds":1000},` +
		`{"failurePolicy":"Fail","name":"own-customers","rewrite":{"set":{"tenant":"customer-a"},"tools":["crm_search"]},"timeoutMilliseconds":1000}],"unlistedTools":"Allow"}`)
	all := make([]*object, many)
	for i := range all {
		all[i] = &object{Spec: spec, ObjectMeta: metav1.ObjectMeta{
			Namespace: fmt.Sprintf("tenant-%d", i), Name: "p", UID: types.UID(fmt.Sprint(i)), Generation: 1, ResourceVersion: fmt.Sprint(1000 + i),
		}}
	}
	return all
}

func fullTable(tb testing.TB) (*table, []*object) {
	tb.Helper()
	c := &compiler{binding: everything()}
	t := newTable(c, nil, func(k kind, e *entry) { tb.Fatalf("%s %s: %v %v", k, e.name, e.rejected, e.warnings) })
	objects := manyObjects()
	t.replace(clusterHookPolicies, nil, "1")
	t.replace(hookPolicies, objects, "2")
	return t, objects
}

// BenchmarkEdit is what one edited policy among many costs before the engine.
func BenchmarkEdit(b *testing.B) {
	t, objects := fullTable(b)
	b.ReportAllocs()
	for b.Loop() {
		o := *objects[many/2]
		o.Generation = objects[many/2].Generation + 1
		objects[many/2] = &o
		t.put(hookPolicies, &o)
		if t.snapshot().set.Len() != many {
			b.Fatal("a policy is missing")
		}
	}
}

// BenchmarkList is what reading and compiling many policies costs. It reports
// what each of them holds afterwards.
func BenchmarkList(b *testing.B) {
	before := heapBytes()
	var kept *table
	for b.Loop() {
		kept, _ = fullTable(b)
	}
	b.ReportMetric(float64(heapBytes()-before)/many, "B/policy")
	runtime.KeepAlive(kept)
}

// BenchmarkState is what writing the last good policies costs, but the disk.
func BenchmarkState(b *testing.B) {
	t, _ := fullTable(b)
	lists := t.snapshot().lists
	b.ReportAllocs()
	for b.Loop() {
		if err := encodeState(io.Discard, lists, time.Now()); err != nil {
			b.Fatal(err)
		}
	}
}

func heapBytes() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
