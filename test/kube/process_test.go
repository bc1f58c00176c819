package kube

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds what a test waits for. It is not what anything is measured
// against: a machine under load may take long.
const patience = 2 * time.Minute

// A process is a running program of the project, which logs lines of JSON.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{} // closed once it has ended
	err    error         // of its end

	mu  sync.Mutex
	log bytes.Buffer
}

// start starts a program. It is killed at the end of the test; its log is shown
// if the test has failed.
func start(t *testing.T, name string, env []string, args ...string) *process {
	t.Helper()
	cmd := exec.Command(programs.path(t, name), args...)
	cmd.Env = append(os.Environ(), env...)
	p := &process{cmd: cmd, exited: make(chan struct{})}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.follow(stderr)
		p.err = cmd.Wait()
		close(p.exited)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended already
		<-p.exited
		if t.Failed() {
			t.Logf("log of %s %v:\n%s", name, args, p.logged())
		}
	})
	return p
}

func (p *process) follow(r io.Reader) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		p.mu.Lock()
		p.log.Write(append(lines.Bytes(), '\n'))
		p.mu.Unlock()
	}
}

func (p *process) logged() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

func (p *process) running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// stop ends a process in order.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.exited:
		if p.err != nil {
			t.Errorf("%s ends with %v\n%s", p.cmd.Path, p.err, p.logged())
		}
	case <-time.After(patience):
		t.Fatalf("%s does not end:\n%s", p.cmd.Path, p.logged())
	}
}
