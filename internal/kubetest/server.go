package kubetest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// Config returns the administrator's configuration, to be changed at will.
func (s *Server) Config() *rest.Config { return rest.CopyConfig(s.env.Config) }

// Client returns the administrator's client. It knows the kinds of Scheme.
func (s *Server) Client() client.WithWatch { return s.admin }

// ClientFor returns a client of somebody else.
func (s *Server) ClientFor(tb testing.TB, config *rest.Config) client.WithWatch {
	tb.Helper()
	c, err := client.NewWithWatch(config, client.Options{Scheme: s.scheme})
	if err != nil {
		tb.Fatalf("make a client: %v", err)
	}
	return c
}

// User returns the configuration of a person, who may do nothing unless the
// test binds roles to the name or to the groups.
func (s *Server) User(tb testing.TB, name string, groups ...string) *rest.Config {
	tb.Helper()
	u, err := s.env.AddUser(envtest.User{Name: name, Groups: groups}, s.Config())
	if err != nil {
		tb.Fatalf("add user %s: %v", name, err)
	}
	return u.Config()
}

// Bearer returns the configuration of whoever has a token: a ServiceAccount,
// with one that Token made without an audience.
func (s *Server) Bearer(token string) *rest.Config {
	config := rest.AnonymousClientConfig(s.env.Config)
	config.BearerToken = token
	return config
}

// Kubeconfig writes a configuration to a file and returns its path. The file
// goes with the test.
func (s *Server) Kubeconfig(tb testing.TB, config *rest.Config) string {
	tb.Helper()
	doc := clientcmdapi.NewConfig()
	doc.Clusters["test"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	doc.AuthInfos["test"] = &clientcmdapi.AuthInfo{
		ClientCertificateData: config.CertData, ClientKeyData: config.KeyData, Token: config.BearerToken,
		Impersonate: config.Impersonate.UserName, ImpersonateGroups: config.Impersonate.Groups,
	}
	doc.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	doc.CurrentContext = "test"
	path := filepath.Join(tb.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*doc, path); err != nil {
		tb.Fatalf("write a kubeconfig: %v", err)
	}
	return path
}

// Namespace makes a namespace whose name begins with prefix and returns the
// name. Nobody empties it: it goes with the server.
func (s *Server) Namespace(tb testing.TB, prefix string) string {
	tb.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix + "-"}}
	s.Create(tb, ns)
	return ns.Name
}

// Create makes an object as the administrator.
func (s *Server) Create(tb testing.TB, object client.Object) {
	tb.Helper()
	if err := s.admin.Create(tb.Context(), object); err != nil {
		tb.Fatalf("create %T %s: %v", object, object.GetName(), err)
	}
}

// ServiceAccount makes a ServiceAccount.
func (s *Server) ServiceAccount(tb testing.TB, namespace, name string) {
	tb.Helper()
	s.Create(tb, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
}

// Pod makes a Pod of a ServiceAccount, which nobody runs: tokens are bound to
// it, and its name is in them.
func (s *Server) Pod(tb testing.TB, namespace, name, serviceAccount string) *corev1.Pod {
	tb.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.PodSpec{
			ServiceAccountName: serviceAccount,
			Containers:         []corev1.Container{{Name: "main", Image: "not-run"}},
		},
	}
	s.Create(tb, pod)
	return pod
}

// A TokenFor says whose token is wanted and for whom.
type TokenFor struct {
	Namespace, ServiceAccount string
	// Audience is whom the token is for. Empty: the API server itself.
	Audience string
	// PodName and PodUID bind the token to a Pod, if set: it dies with the Pod.
	PodName string
	PodUID  types.UID
}

// Token asks the API server for a ServiceAccount's token, as a kubelet does for
// a pod's projected volume.
func (s *Server) Token(tb testing.TB, t TokenFor) string {
	tb.Helper()
	request := &authenticationv1.TokenRequest{}
	if t.Audience != "" {
		request.Spec.Audiences = []string{t.Audience}
	}
	if t.PodName != "" {
		request.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{
			APIVersion: "v1", Kind: "Pod", Name: t.PodName, UID: t.PodUID,
		}
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: t.Namespace, Name: t.ServiceAccount}}
	if err := s.admin.SubResource("token").Create(tb.Context(), account, request); err != nil {
		tb.Fatalf("request a token of %s/%s: %v", t.Namespace, t.ServiceAccount, err)
	}
	return request.Status.Token
}

// Kubectl runs kubectl with a kubeconfig file and returns what it printed, both
// streams together.
func Kubectl(tb testing.TB, kubeconfig, stdin string, args ...string) (string, error) {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), filepath.Join(os.Getenv(assetsVariable), "kubectl"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "HOME="+tb.TempDir())
	cmd.Stdin = strings.NewReader(stdin)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// Eventually calls check until it returns nil. It fails the test with check's
// last error when that takes longer than within.
func Eventually(tb testing.TB, within time.Duration, what string, check func(ctx context.Context) error) {
	tb.Helper()
	last := fmt.Errorf("it was not checked once")
	err := wait.PollUntilContextTimeout(tb.Context(), 20*time.Millisecond, within, true, func(ctx context.Context) (bool, error) {
		last = check(ctx)
		return last == nil, nil
	})
	if err != nil {
		tb.Fatalf("%s: not within %s: %v", what, within, last)
	}
}
