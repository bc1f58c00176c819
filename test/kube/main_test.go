// Package kube is the proof of the main job on Kubernetes: the chart is
// installed on a real API server, the manager and two replicas run as the
// processes that the chart and the manager say, with the rights that they are
// given there, and agents ask with real ServiceAccount tokens over TLS.
//
// What a node would do is done by the tests: no kubelet runs, so they make the
// pods of the StatefulSet, bind tokens to them and start the program that the
// pod template names.
package kube

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/kubetest"
)

const root = "../.." // of the repository

var (
	kube     = kubetest.Shared{Bare: true} // the chart brings the definitions
	programs built
)

func TestMain(m *testing.M) {
	code := kube.Run(m)
	if err := programs.remove(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// A built is the project's programs, built when the first test needs them.
type built struct {
	once sync.Once
	dir  string
	err  error
}

func (b *built) path(t *testing.T, name string) string {
	t.Helper()
	kubetest.DependsOn(t, root+"/api", root+"/cmd", root+"/config", root+"/controllers", root+"/internal")
	b.once.Do(func() {
		if b.dir, b.err = shortDir(); b.err != nil {
			return
		}
		cmd := exec.CommandContext(t.Context(), "go", "build", "-o", b.dir+"/", "./cmd/...")
		cmd.Dir = root
		var out bytes.Buffer
		cmd.Stderr = &out
		if err := cmd.Run(); err != nil {
			b.err = errors.New(err.Error() + "\n" + out.String())
		}
	})
	if b.err != nil {
		t.Fatalf("build the programs: %v", b.err)
	}
	return filepath.Join(b.dir, name)
}

func (b *built) remove() error {
	if b.dir == "" {
		return nil
	}
	return os.RemoveAll(b.dir)
}

// shortDir makes a directory that outlives a test, or whose path is short enough
// for a socket in it.
func shortDir() (string, error) {
	dir := filepath.Join(os.TempDir(), "hp-"+rand.Text()[:8])
	return dir, os.Mkdir(dir, 0o700)
}
