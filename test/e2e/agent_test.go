package e2e

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/internal/contract"
)

//go:embed testdata/agent.yaml
var agentManifest string

// An agent is a caller in a pod of its own.
type agent struct {
	c               *cluster
	namespace, name string
}

// agent starts an agent with a ServiceAccount of its own name, which asks the
// platform's default decision service.
func (p *platform) agent(t *testing.T, namespace, name string) *agent {
	t.Helper()
	return p.agentOf(t, namespace, name, platformNamespace, serviceName)
}

// agentOf starts an agent of one decision service.
func (c *cluster) agentOf(t *testing.T, namespace, name, serviceNamespace, service string) *agent {
	t.Helper()
	return c.agentThat(t, namespace, name, serviceNamespace, service, "wait")
}

// loader starts an agent that asks the default service without pause, under the
// ServiceAccount of its own name.
func (p *platform) loader(t *testing.T, namespace, name string, d time.Duration) *agent {
	t.Helper()
	return p.agentThat(t, namespace, name, platformNamespace, serviceName, "load", d.String())
}

func (c *cluster) agentThat(t *testing.T, namespace, name, serviceNamespace, service string, args ...string) *agent {
	t.Helper()
	c.apply(t, strings.NewReplacer(
		"$ARGS", strings.Join(args, ", "), "$NAMESPACE", namespace, "$NAME", name, "$IMAGE", agentImage,
		"$URL", contract.URL(serviceNamespace, service), "$AUDIENCE", contract.Audience(serviceNamespace, service),
	).Replace(agentManifest))
	c.kubectl(t, "-n", namespace, "wait", "pod/"+name, "--for=condition=Ready", "--timeout", patience.String())
	return &agent{c: c, namespace: namespace, name: name}
}

// An answer is what the agent got, and what went wrong if that was none.
type answer struct {
	decisionv1.Response
	Error string `json:"error"`
}

// ask has the agent ask about calls, one after the other.
func (a *agent) ask(t *testing.T, calls ...decisionv1.Request) []answer {
	t.Helper()
	var in strings.Builder
	for _, call := range calls {
		if err := json.NewEncoder(&in).Encode(call); err != nil {
			t.Fatal(err)
		}
	}
	out, err := a.c.tryKubectl(t, in.String(), "-n", a.namespace, "exec", "-i", a.name, "--", "/agent", "ask")
	if err != nil {
		t.Fatalf("the agent: %v\n%s", err, out)
	}
	var answers []answer
	for d := json.NewDecoder(strings.NewReader(out)); d.More(); {
		var one answer
		if err := d.Decode(&one); err != nil {
			t.Fatalf("the agent says %q: %v", out, err)
		}
		answers = append(answers, one)
	}
	if len(answers) != len(calls) {
		t.Fatalf("%d answers to %d calls: %s", len(answers), len(calls), out)
	}
	return answers
}

// gets checks that a call is answered with a decision, for a reason if one is
// given.
func (a *agent) gets(t *testing.T, call decisionv1.Request, want decisionv1.Decision, code string) error {
	t.Helper()
	got := a.ask(t, call)[0]
	reason := ""
	if got.Reason != nil {
		reason = got.Reason.Code
	}
	if got.Decision != want || code != "" && reason != code || got.Error != "" {
		return fmt.Errorf("%s %s: %s (%s %s), want %s %s", call.Tool, call.Args, got.Decision, reason, got.Error, want, code)
	}
	return nil
}

// call is a call of a tool with arguments as JSON.
func call(tool, args string) decisionv1.Request {
	return decisionv1.Request{Tool: tool, Args: json.RawMessage(args)}
}

// execs counts what was run through the container runtime, which wants a name
// for each.
var execs atomic.Int64

func nextExec() int64 { return execs.Add(1) }
