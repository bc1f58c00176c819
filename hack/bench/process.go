package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// stopTime is how long a process has to end by itself.
const stopTime = 10 * time.Second

// A process is a server that this program has started.
type process struct {
	cmd  *exec.Cmd
	addr string
	dir  string // of its audit log, "" if it has none
}

func (b *bench) binary() string { return filepath.Join(b.dir, "hookpolicy") }

// build compiles the program under test, with the flags of the environment.
func (b *bench) build(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", b.binary(), "./cmd/hookpolicy")
	cmd.Stderr = b.progress
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build the program: %w", err)
	}
	return nil
}

// serve starts a decision service on a fresh audit log.
func (b *bench) serve(ctx context.Context, policies string, args ...string) (*process, error) {
	dir, err := os.MkdirTemp(b.dir, "audit-")
	if err != nil {
		return nil, fmt.Errorf("make an audit directory: %w", err)
	}
	args = append([]string{
		"serve", "--policy", policies, "--audit-dir", dir, "--listen", "127.0.0.1:0", "--replica", "bench", "--admin-socket", socketOf(dir),
	}, args...)
	p, err := start(exec.CommandContext(ctx, b.binary(), args...))
	if err != nil {
		return nil, fmt.Errorf("start the service: %w", err)
	}
	p.dir = dir
	return p, nil
}

// socketOf is the approvers' socket of a service: relative, because the names
// of sockets must be short.
func socketOf(dir string) string {
	socket := filepath.Join(dir, "admin.sock")
	if wd, err := os.Getwd(); err == nil {
		if short, err := filepath.Rel(wd, socket); err == nil {
			return short
		}
	}
	return socket
}

// start runs a server and waits for the line that tells its address.
func start(cmd *exec.Cmd) (*process, error) {
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTime
	out, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(out)
	said := ""
	for lines.Scan() {
		said = lines.Text()
		var line struct {
			Address string `json:"address"`
		}
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Address != "" {
			go func() { _, _ = io.Copy(io.Discard, out) }() // what it has to say later is not of interest
			return &process{cmd: cmd, addr: line.Address}, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("it ended: %s", said), cmd.Wait())
}

// stop ends a server in its orderly way.
func (p *process) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop a server: %w", err)
	}
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("stop a server: %w", err)
	}
	return nil
}

// target is the server, asked the same by every connection.
func (p *process) target(r request, want string) target {
	return target{addr: p.addr, pid: p.cmd.Process.Pid, request: func(int) request { return r }, want: want}
}

// cpuTime is what a process has used of the processors so far, in steps of
// 10 ms; 0 where the system does not tell.
func cpuTime(pid int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(stat), ") ") // the name may hold anything
	fields := strings.Fields(after)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// residentBytes is the memory that a process holds; 0 where the system does
// not tell.
func residentBytes(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(status), "VmRSS:")
	line, _, _ := strings.Cut(after, "\n")
	kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(line), " kB"), 10, 64)
	return kib << 10
}

// loadAverage is how many processes wanted to run in the last minute; 0 where
// the system does not tell.
func loadAverage() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	load, _ := strconv.ParseFloat(first, 64)
	return load
}
