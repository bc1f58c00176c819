package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
)

// patience bounds what a test waits for. It is not what anything is measured
// against: a machine under load may take long.
const patience = time.Minute

// A process is a running service.
type process struct {
	cmd      *exec.Cmd
	url      string
	auditDir string
	exited   chan error

	mu  sync.Mutex
	log bytes.Buffer
}

// serve starts a service on a free port and waits until it is ready. It is
// killed at the end of the test.
func serve(t *testing.T, auditDir, policy string, more ...string) *process {
	t.Helper()
	args := append([]string{"serve", "--policy", policy, "--audit-dir", auditDir, "--listen", "127.0.0.1:0", "--admin-socket", socketPath(t)}, more...)
	return startProcess(t, program(t, args...), auditDir)
}

// socketPath is a path for a socket: those of test directories can be too long.
func socketPath(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hp") //nolint:usetesting // its paths are too long, see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, defaultAdminSocket)
}

func startProcess(t *testing.T, cmd *exec.Cmd, auditDir string) *process {
	t.Helper()
	p := &process{cmd: cmd, auditDir: auditDir, exited: make(chan error, 1)}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make(chan string, 1)
	go func() {
		p.follow(stderr, ready)
		p.exited <- cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended already
	})
	select {
	case p.url = <-ready:
	case err := <-p.exited:
		t.Fatalf("the service ended at once: %v\n%s", err, p.logged())
	case <-time.After(patience):
		t.Fatalf("the service is not ready:\n%s", p.logged())
	}
	return p
}

// follow keeps the log and finds the address in it.
func (p *process) follow(stderr io.Reader, ready chan<- string) {
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		p.mu.Lock()
		p.log.Write(append(lines.Bytes(), '\n'))
		p.mu.Unlock()
		var entry struct{ Msg, Address string }
		if json.Unmarshal(lines.Bytes(), &entry) != nil {
			continue
		}
		switch entry.Msg {
		case "Decision service is ready":
			ready <- "http://" + entry.Address
		case "Decision service is listening":
			ready <- "https://" + entry.Address
		}
	}
}

func (p *process) logged() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// stop ends the service in order and returns its error.
func (p *process) stop(t *testing.T) error {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	return p.wait(t)
}

func (p *process) wait(t *testing.T) error {
	t.Helper()
	select {
	case err := <-p.exited:
		return err
	case <-time.After(patience):
		t.Fatalf("the service does not end:\n%s", p.logged())
		return nil
	}
}

// decide asks about one call over the socket.
func (p *process) decide(t *testing.T, body string) *decisionv1.Response {
	t.Helper()
	resp, err := p.post(t.Context(), body)
	if err != nil {
		t.Fatalf("%v\n%s", err, p.logged())
	}
	return resp
}

func (p *process) post(ctx context.Context, body string) (*decisionv1.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+decisionv1.PathDecide, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var resp decisionv1.Response
	return &resp, json.NewDecoder(answer.Body).Decode(&resp)
}

// get returns the status code of a path.
func (p *process) get(t *testing.T, path string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	return answer.StatusCode
}

// eventually repeats a question until the answer is yes.
func eventually(t *testing.T, what string, yes func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !yes() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s", what, patience)
		}
		<-tick.C
	}
}

// verified verifies an audit directory with the program's own command.
func verified(t *testing.T, dir string) {
	t.Helper()
	if status, out, errs := hookpolicy(t, "", "audit", "verify", dir); status != exitOK {
		t.Errorf("the chain does not verify:\n%s%s", out, errs)
	}
}

// records returns every record of a directory by its hash.
func records(t *testing.T, dir string) map[string]map[string]any {
	t.Helper()
	found := make(map[string]map[string]any)
	files, err := filepath.Glob(filepath.Join(dir, "t", "*", "log", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(b) {
			var r map[string]any
			if err := json.Unmarshal(line, &r); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			hash, _ := r["record_hash"].(string)
			found[hash] = r
		}
	}
	return found
}
