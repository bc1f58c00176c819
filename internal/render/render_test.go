package render_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/certs"
	"github.com/hookpolicy/hookpolicy/internal/contract"
	"github.com/hookpolicy/hookpolicy/internal/render"
)

var update = flag.Bool("update", false, "write the golden files")

var options = render.Options{
	Image:             "registry.test/hookpolicy:v1",
	PullPolicy:        corev1.PullIfNotPresent,
	PlatformNamespace: "platform",
	DefaultService:    types.NamespacedName{Namespace: "platform", Name: "default"},
}

func TestReplicasArePulledWithTheManagersSecrets(t *testing.T) {
	o := options
	o.PullSecrets = []string{"registry"}
	children, err := render.Render(service("platform", v1alpha1.DecisionServiceSpec{}), o)
	if err != nil {
		t.Fatal(err)
	}
	if got := children.StatefulSet.Spec.Template.Spec.ImagePullSecrets; len(got) != 1 || *got[0].Name != "registry" {
		t.Errorf("pull secrets %+v", got)
	}
}

func service(namespace string, spec v1alpha1.DecisionServiceSpec) *v1alpha1.DecisionService {
	return &v1alpha1.DecisionService{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default", UID: "0000-1111", Generation: 3},
		Spec:       spec,
	}
}

// full is a service with every field set.
func full(namespace string) *v1alpha1.DecisionService {
	return service(namespace, v1alpha1.DecisionServiceSpec{
		Replicas: 2,
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")},
		},
		Audit:             v1alpha1.AuditVolume{Size: "20Gi", StorageClassName: new("fast")},
		DataVolumes:       []v1alpha1.DataVolume{{Name: "customer", ClaimName: "customer-data", MountPath: "/data/customer-a"}},
		TLS:               v1alpha1.ServingCertificate{SecretName: "own-certificate"},
		AllowedNamespaces: v1alpha1.AllowedNamespaces{From: v1alpha1.BindFromNames, Names: []string{"team-b", "team-a"}},
		Unmatched:         v1alpha1.UnmatchedAllow,
	})
}

func TestRenderedChildrenAreTheGoldenOnes(t *testing.T) {
	all := service("platform", v1alpha1.DecisionServiceSpec{AllowedNamespaces: v1alpha1.AllowedNamespaces{From: v1alpha1.BindFromAll}})
	for name, ds := range map[string]*v1alpha1.DecisionService{
		"platform-minimal": service("platform", v1alpha1.DecisionServiceSpec{}),
		"platform-all":     all,
		"platform-full":    full("platform"),
		"tenant-full":      full("team-a"),
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, name, mustRender(t, ds, options))
		})
	}
}

func golden(t *testing.T, name string, c *render.Children) {
	t.Helper()
	var got bytes.Buffer
	for _, child := range c.All() {
		doc, err := yaml.Marshal(child)
		if err != nil {
			t.Fatal(err)
		}
		got.WriteString("---\n")
		got.Write(doc)
	}
	path := filepath.Join("testdata", name+".yaml")
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("differs from %s; run with -update if that is meant (-want +got):\n%s", path, diff)
	}
}

func TestEverythingButTheClaimsGoesWithTheService(t *testing.T) {
	c := mustRender(t, full("platform"), options)
	for _, child := range c.All() {
		var o metav1.PartialObjectMetadata
		remarshal(t, child, &o)
		if len(o.OwnerReferences) != 1 {
			t.Errorf("%s %s has %d owners", o.Kind, o.Name, len(o.OwnerReferences))
			continue
		}
		r := o.OwnerReferences[0]
		if r.UID != "0000-1111" || r.Controller == nil || !*r.Controller || r.BlockOwnerDeletion == nil || !*r.BlockOwnerDeletion {
			t.Errorf("%s %s is owned by %+v", o.Kind, o.Name, r)
		}
	}
	for _, claim := range c.StatefulSet.Spec.VolumeClaimTemplates {
		if len(claim.OwnerReferences) > 0 {
			t.Error("a claim has an owner: its evidence would be deleted with it")
		}
	}
}

func TestOnlyTheManagerSaysWhatRuns(t *testing.T) {
	ds := full("team-a")
	ds.Annotations = map[string]string{"image": "evil"}
	ds.Labels = map[string]string{"image": "evil"}
	c := mustRender(t, ds, options)
	pod := c.StatefulSet.Spec.Template.Spec
	if got := *pod.Containers[0].Image; got != options.Image {
		t.Errorf("image %s", got)
	}
	doc, err := json.Marshal(c.All())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(doc), "evil") {
		t.Error("something of the object's metadata came into a child")
	}
}

func TestAServiceOutsideThePlatformServesItsOwnNamespaceOnly(t *testing.T) {
	for name, tc := range map[string]struct {
		namespace string
		allowed   v1alpha1.AllowedNamespaces
		all       bool
		names     []string
	}{
		"platform, none said":    {"platform", v1alpha1.AllowedNamespaces{}, false, []string{"platform"}},
		"platform, Same":         {"platform", v1alpha1.AllowedNamespaces{From: v1alpha1.BindFromSame, Names: []string{"x"}}, false, []string{"platform"}},
		"platform, All":          {"platform", v1alpha1.AllowedNamespaces{From: v1alpha1.BindFromAll}, true, nil},
		"platform, Names":        {"platform", v1alpha1.AllowedNamespaces{From: v1alpha1.BindFromNames, Names: []string{"x", "a"}}, false, []string{"a", "platform", "x"}},
		"platform, unknown word": {"platform", v1alpha1.AllowedNamespaces{From: "Everybody"}, false, []string{"platform"}},
		"tenant, All":            {"team-a", v1alpha1.AllowedNamespaces{From: v1alpha1.BindFromAll}, false, []string{"team-a"}},
		"tenant, Names":          {"team-a", v1alpha1.AllowedNamespaces{From: v1alpha1.BindFromNames, Names: []string{"x"}}, false, []string{"team-a"}},
	} {
		t.Run(name, func(t *testing.T) {
			ds := service(tc.namespace, v1alpha1.DecisionServiceSpec{AllowedNamespaces: tc.allowed})
			all, names := options.Serves(ds)
			if all != tc.all || !slices.Equal(names, tc.names) {
				t.Errorf("Serves = %v %v, want %v %v", all, names, tc.all, tc.names)
			}
			if !options.MayBind(ds, tc.namespace) || options.MayBind(ds, "stranger") != tc.all {
				t.Error("MayBind disagrees with Serves")
			}
		})
	}
	if got := (render.Options{}).TrustOf(""); got != v1alpha1.TrustTenant {
		t.Errorf("without a platform namespace the trust is %s", got)
	}
}

func TestTheDigestNamesEveryInput(t *testing.T) {
	base := mustRender(t, full("platform"), options)
	if again := mustRender(t, full("platform"), options); again.Inputs != base.Inputs {
		t.Error("the same inputs have another digest")
	}
	image := options
	image.Image = "registry.test/hookpolicy:v2"
	if mustRender(t, full("platform"), image).Inputs == base.Inputs {
		t.Error("another image has the same digest")
	}
	scaled := full("platform")
	scaled.Spec.Replicas = 3
	if mustRender(t, scaled, options).Inputs == base.Inputs {
		t.Error("another number of replicas has the same digest")
	}
	if got := base.StatefulSet.Annotations[contract.AnnotationInputs]; got != base.Inputs {
		t.Errorf("the StatefulSet carries %q", got)
	}
}

func TestASizeThatIsNoneIsNamed(t *testing.T) {
	for _, size := range []string{"large", "-1Gi", "0"} {
		ds := service("platform", v1alpha1.DecisionServiceSpec{Audit: v1alpha1.AuditVolume{Size: size}})
		if _, err := render.Render(ds, options); err == nil || !strings.Contains(err.Error(), "spec.audit.size") {
			t.Errorf("%s: %v", size, err)
		}
	}
}

func TestTheServingSecretIsForTheServiceAndItsReplicas(t *testing.T) {
	ds := full("platform")
	want := []string{
		"hookpolicy-default.platform.svc",
		"hookpolicy-default-0.hookpolicy-default-replicas.platform.svc",
		"hookpolicy-default-1.hookpolicy-default-replicas.platform.svc",
	}
	if got := render.ServingNames(ds); !slices.Equal(got, want) {
		t.Errorf("names %q", got)
	}
	s := render.ServingSecret(ds, &certs.Pair{CertPEM: []byte("c"), KeyPEM: []byte("k")})
	if *s.Name != "hookpolicy-default-serving" || *s.Type != corev1.SecretTypeTLS || string(s.Data["tls.crt"]) != "c" || string(s.Data["tls.key"]) != "k" {
		t.Errorf("%+v", s)
	}
}

func mustRender(t *testing.T, ds *v1alpha1.DecisionService, o render.Options) *render.Children {
	t.Helper()
	c, err := render.Render(ds, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func remarshal(t *testing.T, from, to any) {
	t.Helper()
	b, err := json.Marshal(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, to); err != nil {
		t.Fatal(err)
	}
}
