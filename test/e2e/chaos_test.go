package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
)

var (
	chaosFor  = flag.Duration("chaos", 45*time.Second, "how long TestChaos makes trouble")
	chaosSeed = flag.Uint64("seed", 1, "what TestChaos does, and when")
)

// TestChaos makes trouble while agents ask, and then holds what they were told
// against the record: every decision that was acknowledged is there, exactly
// once, as it was acknowledged. The same seed makes the same trouble.
func TestChaos(t *testing.T) {
	const ns = "customer-d"
	p := install(t, "decisionService: {replicas: 2}")
	p.tenantOf(t, ns)
	a := p.loader(t, ns, "loader", *chaosFor)
	t.Cleanup(func() { p.node(t, "start", "kube-apiserver", "kubelet") }) // before the release is removed
	random := rand.New(rand.NewPCG(*chaosSeed, 0))
	for begun := time.Now(); time.Since(begun) < *chaosFor-10*time.Second; {
		p.trouble(t, random)
		pauseFor(t, time.Duration(2000+random.IntN(3000))*time.Millisecond)
	}
	p.ready(t)
	p.verifyAudit(t, platformNamespace, serviceName)
	p.checkAnswers(t, a.answers(t))
}

// trouble makes one fault, and lets what it stopped run again.
func (p *platform) trouble(t *testing.T, random *rand.Rand) {
	t.Helper()
	what, replica, seconds := random.IntN(5), random.IntN(2), 2+random.IntN(4)
	switch what {
	case 0:
		t.Logf("replica %d is deleted by force", replica)
		p.tryToKill(t, fmt.Sprintf("hookpolicy-%s-%d", serviceName, replica))
	case 1, 2:
		program := map[int]string{1: "kube-apiserver", 2: "kubelet"}[what]
		t.Logf("%s is gone for %d s", program, seconds)
		p.node(t, "stop", program)
		pauseFor(t, time.Duration(seconds)*time.Second)
		p.node(t, "start", program)
	case 3:
		t.Log("the policy is edited")
		p.try(t, "-n", "customer-d", "patch", "hookpolicy", "guarded", "--type=merge", "-p", fmt.Sprintf(`{"spec":{"context":{"branch":"b%d"}}}`, random.IntN(1000)))
	default:
		t.Log("the manager is deleted by force")
		p.try(t, "-n", platformNamespace, "delete", "pod", "-l", "app.kubernetes.io/component=manager", "--grace-period=0", "--force")
	}
}

// try does what may fail while the API server comes back.
func (p *platform) try(t *testing.T, args ...string) {
	t.Helper()
	eventually(t, patience, strings.Join(args, " "), func(context.Context) error {
		out, err := p.tryKubectl(t, "", args...)
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
}

func (p *platform) tryToKill(t *testing.T, pod string) {
	t.Helper()
	p.try(t, "-n", platformNamespace, "delete", "pod", pod, "--grace-period=0", "--force", "--ignore-not-found")
}

// pauseFor lets time pass in which trouble is at work. It is not a wait for
// anything.
func pauseFor(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}

// A said is what the agent was told about one call.
type said struct {
	CallID   string              `json:"callId"`
	Decision decisionv1.Decision `json:"decision"`
	Code     string              `json:"code"`
	Audit    *decisionv1.Receipt `json:"audit"`
	Error    bool                `json:"error"`
}

// answers are those that the agent's load got.
func (a *agent) answers(t *testing.T) []said {
	t.Helper()
	var all []said
	var out string
	eventually(t, *chaosFor+patience, "the agent has asked all", func(context.Context) (err error) {
		out, err = a.c.tryKubectl(t, "", "-n", a.namespace, "exec", a.name, "--", "/agent", "answers")
		return err
	})
	for line := range strings.Lines(out) {
		var s said
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatalf("the agent says %q: %v", line, err)
		}
		all = append(all, s)
	}
	return all
}

// checkAnswers holds answers against the chains of all replicas.
func (p *platform) checkAnswers(t *testing.T, answers []said) {
	t.Helper()
	records := p.records(t)
	acknowledged, lost, open := 0, 0, 0
	seen := make(map[string]int)
	for _, r := range records {
		if r.Kind == "decision" && !r.Repeat {
			seen[r.ReqID]++
		}
	}
	for _, s := range answers {
		if s.Audit == nil {
			if s.Decision != decisionv1.Deny && s.Decision != "" {
				open++
				t.Errorf("%s: %s without a record", s.CallID, s.Decision)
			}
			continue
		}
		acknowledged++
		r, ok := records[s.Audit.Hash]
		// A request of a caller that could not be known is denied and recorded unread.
		unread := r.ReqID == "" && s.Decision == decisionv1.Deny && strings.HasPrefix(s.Code, "caller.")
		if !ok || r.Seq != s.Audit.Seq || r.Decision != string(s.Decision) || r.ReqID != s.CallID && !unread {
			if lost++; lost < 10 {
				t.Errorf("%s was told %s as record %s %s, and the log has %+v", s.CallID, s.Decision, s.Audit.Seq, s.Audit.Hash, r)
			}
		}
		if seen[s.CallID] > 1 {
			t.Errorf("%s is decided %d times in the log", s.CallID, seen[s.CallID])
		}
	}
	t.Logf("%d calls, %d acknowledged, %d lost, %d open, %d without an answer", len(answers), acknowledged, lost, open, len(answers)-acknowledged)
	if acknowledged < 100 {
		t.Errorf("only %d decisions were acknowledged: the test shows little", acknowledged)
	}
}

// A record is what the check needs of a line of a chain.
type record struct {
	Kind     string `json:"kind"`
	Seq      string `json:"seq"`
	ReqID    string `json:"req_id"`
	Decision string `json:"decision"`
	Repeat   bool   `json:"repeat"`
	Hash     string `json:"record_hash"`
}

// records reads every line on the claims of the default service by its hash:
// what is in the journal and in a tenant's file too is one record.
func (p *platform) records(t *testing.T) map[string]record {
	t.Helper()
	all := make(map[string]record)
	for claim := range strings.FieldsSeq(p.claims(t)) {
		err := filepath.WalkDir(p.volume(t, platformNamespace, claim), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".jsonl" || strings.Contains(path, "quarantine") {
				return err
			}
			file, err := os.Open(path)
			if err != nil {
				return err
			}
			defer file.Close()
			lines := bufio.NewScanner(file)
			lines.Buffer(nil, 1<<20)
			for lines.Scan() {
				var r record
				if json.Unmarshal(lines.Bytes(), &r) == nil && r.Hash != "" {
					all[r.Hash] = r
				}
			}
			return lines.Err()
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	return all
}
