package kube_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/kube"
	"github.com/hookpolicy/hookpolicy/internal/kubetest"
)

func TestAReplicaReportsWhatItHasInForce(t *testing.T) {
	s := cluster.Server(t)
	ns := s.Namespace(t, "report")
	name := types.NamespacedName{Namespace: ns, Name: "hookpolicy-default-0"}
	started := time.Now().Truncate(time.Second)
	r := kube.NewReporter(newClient(t, s.Config()), name, started, slog.New(slog.DiscardHandler))
	go r.Run(t.Context())
	r.Set(kube.InForce{
		SetDigest: "sha256:1", Policies: 2, Reached: v1alpha1.ReachedVersions{HookPolicies: "7", ClusterHookPolicies: "5"},
		Rejected: []v1alpha1.RejectedPolicy{{Namespace: "a", Name: "p", Generation: 3}, {Name: "baseline", Generation: 1}},
	})
	// It exists only now: the controller makes it.
	s.Create(t, &v1alpha1.DecisionReplica{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name.Name}, Spec: v1alpha1.DecisionReplicaSpec{ServiceName: "default"},
	})
	status := func(what string, check func(v1alpha1.DecisionReplicaStatus) bool) {
		t.Helper()
		kubetest.Eventually(t, patience, what, func(ctx context.Context) error {
			dr := &v1alpha1.DecisionReplica{}
			if err := s.Client().Get(ctx, name, dr); err != nil {
				return err
			}
			if !check(dr.Status) {
				return fmt.Errorf("status is %+v", dr.Status)
			}
			return nil
		})
	}
	status("the first report", func(s v1alpha1.DecisionReplicaStatus) bool {
		return s.SetDigest == "sha256:1" && s.Policies == 2 && s.Reached.HookPolicies == "7" && s.Reached.ClusterHookPolicies == "5" &&
			len(s.Rejected) == 2 && s.Rejected[1].Name == "baseline" && s.StartedAt.Time.Equal(started)
	})
	r.Set(kube.InForce{SetDigest: "sha256:2"})
	status("the next one, in which nothing is rejected", func(s v1alpha1.DecisionReplicaStatus) bool {
		return s.SetDigest == "sha256:2" && len(s.Rejected) == 0 && s.Policies == 0
	})
}

func TestAReplicaReportsOnceASecondAtMost(t *testing.T) {
	var writes atomic.Int64
	transport := roundTrip(func(r *http.Request) *http.Response {
		writes.Add(1)
		w := httptest.NewRecorder()
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.WriteString(`{"apiVersion":"hookpolicy.dev/v1alpha1","kind":"DecisionReplica","metadata":{"name":"x"},"spec":{"serviceName":"s"}}`)
		resp := w.Result()
		resp.Request = r
		return resp
	})
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, &rest.Config{Host: "http://api", Transport: transport})
		r := kube.NewReporter(c, types.NamespacedName{Namespace: "ns", Name: "x"}, time.Now(), slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		go r.Run(ctx)
		for i := range 100 { // ten seconds of changes
			r.Set(kube.InForce{SetDigest: fmt.Sprint(i)})
			time.Sleep(100 * time.Millisecond) // of the bubble
		}
		if n := writes.Load(); n < 9 || n > 11 {
			t.Errorf("%d reports in ten seconds of changes", n)
		}
		before := writes.Load()
		time.Sleep(30 * time.Second)
		if n := writes.Load() - before; n > 1 {
			t.Errorf("%d reports without a change", n)
		}
		cancel()
		synctest.Wait()
	})
}

type roundTrip func(*http.Request) *http.Response

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }
