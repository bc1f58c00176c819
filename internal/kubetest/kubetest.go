// Package kubetest gives tests a real Kubernetes API server, with our kinds
// installed and nothing else running: no kubelet starts pods, no scheduler, no
// controller manager, so that nobody collects garbage or empties a deleted
// namespace.
//
// One server serves a whole test binary. A package of tests declares
//
//	var kube kubetest.Shared
//
//	func TestMain(m *testing.M) { os.Exit(kube.Run(m)) }
//
// and each test asks kube.Server(t) for it. The programs come from the folder
// that hack/kube/build.sh prints, in KUBEBUILDER_ASSETS. Without them a test is
// skipped; where CI=true or HOOKPOLICY_KUBE=required it fails instead.
//
// Tests share the server, so each makes its own namespaces (Server.Namespace).
package kubetest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/config/crd"
)

// assetsVariable names the folder of etcd, kube-apiserver and kubectl.
const assetsVariable = "KUBEBUILDER_ASSETS"

// A Shared is the one API server of a test binary, started when the first test
// needs it. The zero value is ready for use.
type Shared struct {
	// Bare leaves our kinds out, for tests of what installs them.
	Bare bool

	once   sync.Once
	server *Server
	err    error
}

// Run runs the tests, stops the server if one was started, and returns the
// exit status.
func (s *Shared) Run(m *testing.M) int {
	code := m.Run()
	if s.server == nil {
		return code
	}
	if err := s.server.stop(); err != nil {
		fmt.Fprintf(os.Stderr, "kubetest: stop the API server: %v\n", err)
		return max(code, 1)
	}
	return code
}

// Server returns the running API server.
func (s *Shared) Server(tb testing.TB) *Server {
	tb.Helper()
	if missing := missingPrograms(); missing != nil {
		const how = "no Kubernetes API server to test with: %v\n" +
			`run the tests with "make test", or export KUBEBUILDER_ASSETS=$(hack/kube/build.sh) first`
		if os.Getenv("CI") == "true" || os.Getenv("HOOKPOLICY_KUBE") == "required" {
			tb.Fatalf(how, missing)
		}
		tb.Skipf(how, missing)
	}
	s.once.Do(func() { s.server, s.err = start(s.Bare) })
	if s.err != nil {
		tb.Fatalf("start the API server: %v", s.err)
	}
	return s.server
}

// A Server is a running API server, reached as its administrator unless said
// otherwise.
type Server struct {
	env    *envtest.Environment
	dir    string // for kubeconfig files
	admin  client.WithWatch
	scheme *runtime.Scheme
}

// Scheme knows Kubernetes' own kinds, custom resource definitions and ours.
func Scheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	err := errors.Join(clientgoscheme.AddToScheme(s), apiextensionsv1.AddToScheme(s), v1alpha1.AddToScheme(s))
	return s, err
}

func start(bare bool) (_ *Server, err error) {
	log.SetLogger(logr.Discard()) // only the first call counts: a test that wants logs makes it earlier
	s := &Server{env: &envtest.Environment{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
		}
	}()
	if s.scheme, err = Scheme(); err != nil {
		return nil, err
	}
	if !bare {
		if s.env.CRDs, err = definitions(); err != nil {
			return nil, err
		}
	}
	if s.dir, err = os.MkdirTemp("", "kubetest-"); err != nil {
		return nil, err
	}
	// What a test writes need not survive the machine's power.
	s.env.ControlPlane.Etcd = &envtest.Etcd{}
	s.env.ControlPlane.Etcd.Configure().Set("unsafe-no-fsync", "true")
	config, err := s.env.Start()
	if err != nil {
		return nil, err
	}
	s.admin, err = client.NewWithWatch(config, client.Options{Scheme: s.scheme})
	return s, err
}

func (s *Server) stop() error {
	return errors.Join(s.env.Stop(), os.RemoveAll(s.dir))
}

// missingPrograms says why a server cannot be started here, if it cannot.
func missingPrograms() error {
	dir := os.Getenv(assetsVariable)
	if dir == "" {
		return errors.New(assetsVariable + " is not set")
	}
	for _, name := range []string{"etcd", "kube-apiserver", "kubectl"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// definitions reads every CustomResourceDefinition of config/crd/bases.
func definitions() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	var all []*apiextensionsv1.CustomResourceDefinition
	err := fs.WalkDir(crd.Bases, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := crd.Bases.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		doc, err := io.ReadAll(f)
		if err != nil {
			return err
		}
		var definition apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(bytes.TrimPrefix(doc, []byte("---\n")), &definition); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, &definition)
		return nil
	})
	return all, err
}
