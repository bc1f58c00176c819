package kube

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/contract"
	"github.com/hookpolicy/hookpolicy/internal/kubetest"
)

const (
	platformNamespace = "hookpolicy-system"
	serviceName       = "default"
)

// A platform is an installed release with its processes.
type platform struct {
	s          *kubetest.Server
	kubeconfig string         // the administrator's
	gate       *kubetest.Gate // between the API server and what is installed
	manager    *process
	replicas   []*replica
}

// A replica is a running replica of the default decision service.
type replica struct {
	*process
	podName  string
	address  string
	auditDir string
	socket   string // the approvers'
}

// install installs the chart and starts what it asks for.
func install(t *testing.T, values string) *platform {
	t.Helper()
	kubetest.DependsOn(t, filepath.Join(root, "charts"))
	s := kube.Server(t)
	p := &platform{s: s, kubeconfig: s.Kubeconfig(t, s.Config()), gate: s.Gate(t)}
	s.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: platformNamespace}})
	p.helm(t, values, "install", "hookpolicy", filepath.Join(root, "charts", "hookpolicy"), "-n", platformNamespace, "-f", "-")
	p.startManager(t)
	p.startReplicas(t)
	return p
}

func (p *platform) helm(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	program := os.Getenv("HOOKPOLICY_HELM")
	if program == "" {
		const how = `HOOKPOLICY_HELM is not set: run the tests with "make test"`
		if os.Getenv("CI") == "true" || os.Getenv("HOOKPOLICY_KUBE") == "required" {
			t.Fatal(how)
		}
		t.Skip(how)
	}
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+p.kubeconfig, "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	cmd.Stdin = strings.NewReader(stdin)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("helm %s: %v\n%s%s", args[0], err, &out, &errs)
	}
	return out.String()
}

// startManager runs the manager as the chart's Deployment says, as the chart's
// ServiceAccount.
func (p *platform) startManager(t *testing.T) {
	t.Helper()
	var d appsv1.Deployment
	if err := p.s.Client().Get(t.Context(), client.ObjectKey{Namespace: platformNamespace, Name: "hookpolicy-manager"}, &d); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: platformNamespace, Name: "hookpolicy-manager-0"}, Spec: d.Spec.Template.Spec}
	args, env := commandLine(pod)
	token := p.s.Token(t, kubetest.TokenFor{Namespace: platformNamespace, ServiceAccount: pod.Spec.ServiceAccountName})
	env = append(env, "KUBECONFIG="+p.s.Kubeconfig(t, p.gate.Config(p.s.Bearer(token))))
	p.manager = start(t, "manager", env, append(args, "--metrics-address=0", "--health-address="+freeAddress(t))...)
}

// startReplicas does what the StatefulSet's controller and the nodes would do:
// a pod for each ordinal, with its token and its certificate, and the program
// that the template names.
func (p *platform) startReplicas(t *testing.T) {
	t.Helper()
	set := &appsv1.StatefulSet{}
	kubetest.Eventually(t, patience, "the manager makes the StatefulSet", func(ctx context.Context) error {
		if !p.manager.running() {
			return errors.New("the manager has ended")
		}
		return p.s.Client().Get(ctx, client.ObjectKey{Namespace: platformNamespace, Name: contract.ChildName(serviceName)}, set)
	})
	for i := range *set.Spec.Replicas {
		p.replicas = append(p.replicas, p.startReplica(t, set, i))
	}
	set.Status = appsv1.StatefulSetStatus{
		ObservedGeneration: set.Generation, Replicas: *set.Spec.Replicas, ReadyReplicas: *set.Spec.Replicas,
		CurrentReplicas: *set.Spec.Replicas, UpdatedReplicas: *set.Spec.Replicas, AvailableReplicas: *set.Spec.Replicas,
	}
	kubetest.Eventually(t, patience, "the StatefulSet's status is written", func(ctx context.Context) error {
		latest := &appsv1.StatefulSet{}
		if err := p.s.Client().Get(ctx, client.ObjectKeyFromObject(set), latest); err != nil {
			return err
		}
		latest.Status = set.Status
		latest.Status.ObservedGeneration = latest.Generation
		return p.s.Client().Status().Update(ctx, latest)
	})
}

func (p *platform) startReplica(t *testing.T, set *appsv1.StatefulSet, ordinal int32) *replica {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: set.Namespace, Name: fmt.Sprintf("%s-%d", set.Name, ordinal), Labels: set.Spec.Template.Labels,
		},
		Spec: *set.Spec.Template.Spec.DeepCopy(),
	}
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: set.Spec.VolumeClaimTemplates[0].Name, VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: set.Spec.VolumeClaimTemplates[0].Name + "-" + set.Name},
	}})
	p.s.Create(t, pod)
	token := p.s.Token(t, kubetest.TokenFor{
		Namespace: pod.Namespace, ServiceAccount: pod.Spec.ServiceAccountName, PodName: pod.Name, PodUID: pod.UID,
	})
	tls, binding := p.secretFiles(t, pod, contract.TLSDir), p.secretFiles(t, pod, contract.BindingDir)
	args, env := commandLine(pod)
	r := &replica{podName: pod.Name, address: freeAddress(t), auditDir: filepath.Join(t.TempDir(), "audit"), socket: socketPath(t)}
	r.process = start(t, "hookpolicy", env, append(args,
		"--kubeconfig="+p.s.Kubeconfig(t, p.gate.Config(p.s.Bearer(token))), "--audit-dir="+r.auditDir,
		"--tls-cert="+filepath.Join(tls, corev1.TLSCertKey), "--tls-key="+filepath.Join(tls, corev1.TLSPrivateKeyKey),
		"--binding-key-file="+filepath.Join(binding, contract.BindingKey), "--listen="+r.address, "--admin-socket="+r.socket)...)
	kubetest.Eventually(t, patience, r.podName+" listens", func(ctx context.Context) error {
		if !r.running() {
			t.Fatalf("%s ended at once: %v\n%s", r.podName, r.err, r.logged())
		}
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", r.address)
		if err != nil {
			return err
		}
		return c.Close()
	})
	return r
}

// secretFiles writes what the pod mounts of a Secret at a path into files.
func (p *platform) secretFiles(t *testing.T, pod *corev1.Pod, path string) (dir string) {
	t.Helper()
	mounts := pod.Spec.Containers[0].VolumeMounts
	mount := slices.IndexFunc(mounts, func(m corev1.VolumeMount) bool { return m.MountPath == path })
	if mount < 0 {
		t.Fatalf("the pod mounts nothing at %s", path)
	}
	volume := slices.IndexFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == mounts[mount].Name && v.Secret != nil })
	if volume < 0 {
		t.Fatalf("the pod mounts no Secret at %s", path)
	}
	secret := &corev1.Secret{}
	name := pod.Spec.Volumes[volume].Secret.SecretName
	kubetest.Eventually(t, patience, "Secret "+name+" is there", func(ctx context.Context) error {
		return p.s.Client().Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: name}, secret)
	})
	dir = t.TempDir()
	for key, data := range secret.Data {
		if err := os.WriteFile(filepath.Join(dir, key), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// commandLine is what a kubelet makes of a container's arguments and
// environment.
func commandLine(pod *corev1.Pod) (args, env []string) {
	container := pod.Spec.Containers[0]
	var expand []string
	for _, v := range container.Env {
		value := v.Value
		if from := v.ValueFrom; from != nil && from.FieldRef != nil {
			value = map[string]string{"metadata.name": pod.Name, "metadata.namespace": pod.Namespace}[from.FieldRef.FieldPath]
		}
		env = append(env, v.Name+"="+value)
		expand = append(expand, "$("+v.Name+")", value)
	}
	for _, a := range container.Args {
		args = append(args, strings.NewReplacer(expand...).Replace(a))
	}
	return args, env
}

// freeAddress is an address on which nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// socketPath is a path for a socket: those of test directories can be too long.
func socketPath(t *testing.T) string {
	t.Helper()
	dir, err := shortDir()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "admin.sock")
}

// policy reads a HookPolicy.
func (p *platform) policy(ctx context.Context, namespace, name string) (*v1alpha1.HookPolicy, error) {
	hp := &v1alpha1.HookPolicy{}
	return hp, p.s.Client().Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, hp)
}
