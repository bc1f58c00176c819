package crd_test

import (
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/kubetest"
)

var kube kubetest.Shared

func TestMain(m *testing.M) { os.Exit(kube.Run(m)) }

func service(t *testing.T, namespace, spec string) *v1alpha1.DecisionService {
	t.Helper()
	ds := &v1alpha1.DecisionService{}
	if err := yaml.UnmarshalStrict([]byte("spec: "+spec), ds); err != nil {
		t.Fatal(err)
	}
	ds.Namespace, ds.GenerateName = namespace, "service-"
	return ds
}

func TestADecisionServiceIsCompletedAndHeldToItsRules(t *testing.T) {
	s := kube.Server(t)
	ns := s.Namespace(t, "services")

	whole := service(t, ns, "{}")
	s.Create(t, whole)
	if spec := whole.Spec; spec.Replicas != 1 || spec.Audit.Size != "10Gi" || spec.AllowedNamespaces.From != v1alpha1.BindFromSame || spec.Unmatched != v1alpha1.UnmatchedDeny {
		t.Errorf("an empty spec becomes %+v", spec)
	}

	for name, c := range map[string]struct{ spec, refused string }{
		"one that says everything":    {"{replicas: 16, audit: {size: 64Mi, storageClassName: a}, allowedNamespaces: {from: Names, names: [a]}, unmatched: Allow}", ""},
		"no replicas":                 {"{replicas: -1}", "spec.replicas"},
		"too many replicas":           {"{replicas: 17}", "spec.replicas"},
		"a volume that is too small":  {"{audit: {size: 63Mi}}", "at least 64Mi"},
		"a volume of no size":         {"{audit: {size: much}}", "must be a size such as 10Gi"},
		"names without from":          {"{allowedNamespaces: {names: [a]}}", "names go with from: Names"},
		"from: Names without names":   {"{allowedNamespaces: {from: Names}}", "names go with from: Names"},
		"a relative mount":            {"{dataVolumes: [{name: a, claimName: a, mountPath: data}]}", "absolute path"},
		"a mount over the audit log":  {"{dataVolumes: [{name: a, claimName: a, mountPath: /audit/x}]}", "needs for itself"},
		"a mount over the key":        {"{dataVolumes: [{name: a, claimName: a, mountPath: /binding}]}", "needs for itself"},
		"a mount over the program":    {"{dataVolumes: [{name: a, claimName: a, mountPath: /hookpolicy}]}", "needs for itself"},
		"a mount beside the program":  {"{dataVolumes: [{name: a, claimName: a, mountPath: /hookpolicy-data/}]}", ""},
		"a mount that climbs":         {"{dataVolumes: [{name: a, claimName: a, mountPath: /data/../audit}]}", "absolute path"},
		"a mount by another name":     {"{dataVolumes: [{name: a, claimName: a, mountPath: //audit}]}", "absolute path"},
		"a mount by a third name":     {"{dataVolumes: [{name: a, claimName: a, mountPath: /./audit}]}", "absolute path"},
		"a mount with names of dots":  {"{dataVolumes: [{name: a, claimName: a, mountPath: /data/.git/...}]}", ""},
		"two mounts in one":           {"{dataVolumes: [{name: a, claimName: a, mountPath: '/data,/srv'}]}", "absolute path"},
		"a mount in quotation marks":  {"{dataVolumes: [{name: a, claimName: a, mountPath: '/\"data\"'}]}", "absolute path"},
		"two volumes of one name":     {"{dataVolumes: [{name: a, claimName: a, mountPath: /a}, {name: a, claimName: b, mountPath: /b}]}", "Duplicate value"},
		"an answer that there is not": {"{unmatched: Ask}", "spec.unmatched"},
	} {
		t.Run(name, func(t *testing.T) {
			err := s.Client().Create(t.Context(), service(t, ns, c.spec))
			if c.refused == "" && err != nil {
				t.Errorf("refused: %v", err)
			}
			if c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)) {
				t.Errorf("error is %v, want one that says %q", err, c.refused)
			}
		})
	}
}

func TestTheNameOfADecisionServiceLeavesRoomForItsParts(t *testing.T) {
	s := kube.Server(t)
	ns := s.Namespace(t, "names")
	for name, refused := range map[string]string{
		strings.Repeat("a", 40): "",
		strings.Repeat("a", 41): "at most 40 characters",
		"own-replicas":          "must not end in -replicas",
		"replicas":              "",
		"own-approvals":         "must not end in -approvals",
		"a.b":                   "must not have a dot",
		"manager":               "must not be called manager or metrics",
		"metrics":               "must not be called manager or metrics",
	} {
		ds := service(t, ns, "{}")
		ds.GenerateName, ds.Name = "", name
		err := s.Client().Create(t.Context(), ds)
		if refused == "" && err != nil || refused != "" && (err == nil || !strings.Contains(err.Error(), refused)) {
			t.Errorf("%s: error is %v, want %q", name, err, refused)
		}
	}
}

func TestWhatCannotChangeInADecisionServiceAfterwards(t *testing.T) {
	s := kube.Server(t)
	ns := s.Namespace(t, "services")
	for name, c := range map[string]struct{ before, patch, refused string }{
		"the volume may grow":                  {"{audit: {size: 1Gi}}", `{"audit":{"size":"2048Mi"}}`, ""},
		"the volume may not shrink":            {"{audit: {size: 1Gi}}", `{"audit":{"size":"1000Mi"}}`, "may only grow"},
		"nor by falling back to the default":   {"{audit: {size: 20Gi}}", `{"audit":{"size":null}}`, "may only grow"},
		"nor by leaving the section out":       {"{audit: {size: 20Gi}}", `{"audit":null}`, "may only grow"},
		"the class may not be changed":         {"{audit: {storageClassName: a}}", `{"audit":{"storageClassName":"b"}}`, "storageClassName cannot be changed"},
		"nor taken away":                       {"{audit: {storageClassName: a}}", `{"audit":{"storageClassName":null}}`, "storageClassName cannot be changed"},
		"nor taken away with its section":      {"{audit: {storageClassName: a}}", `{"audit":null}`, "storageClassName cannot be changed"},
		"nor given later":                      {"{}", `{"audit":{"storageClassName":"a"}}`, "storageClassName cannot be changed"},
		"replicas come and go":                 {"{replicas: 3}", `{"replicas":1}`, ""},
		"namespaces may be allowed afterwards": {"{}", `{"allowedNamespaces":{"from":"All"}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			ds := service(t, ns, c.before)
			s.Create(t, ds)
			err := s.Client().Patch(t.Context(), ds, client.RawPatch("application/merge-patch+json", []byte(`{"spec":`+c.patch+`}`)))
			if c.refused == "" && err != nil {
				t.Errorf("refused: %v", err)
			}
			if c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)) {
				t.Errorf("error is %v, want one that says %q", err, c.refused)
			}
		})
	}
}

func TestAReplicaIsOfOneServiceForEver(t *testing.T) {
	s := kube.Server(t)
	ns := s.Namespace(t, "replicas")
	r := &v1alpha1.DecisionReplica{Spec: v1alpha1.DecisionReplicaSpec{ServiceName: "a"}}
	r.Namespace, r.Name = ns, "a-0"
	s.Create(t, r)
	r.Spec.ServiceName = "b"
	if err := s.Client().Update(t.Context(), r); err == nil || !strings.Contains(err.Error(), "cannot be changed") {
		t.Errorf("error is %v", err)
	}
}
