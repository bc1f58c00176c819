package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/internal/approval"
	"github.com/hookpolicy/hookpolicy/internal/server/admin"
)

//go:embed demo.yaml
var demoPolicy string

func newDemoCommand() *cobra.Command {
	var keep string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch one agent make a few calls, and their record",
		Long: `Starts a decision service on a free loopback port, makes the calls of one agent
over it, approves one of them as a person would, verifies the audit chain, and
then changes one byte of a copy of it to show what verification says.`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDemo(cmd.Context(), cmd.OutOrStdout(), keep)
		},
	}
	cmd.Flags().StringVar(&keep, "keep", "", "work in `DIR`, which must not exist yet, and leave it behind (default: a temporary one, removed at the end)")
	return cmd
}

// A demo is one walk through a running service.
type demo struct {
	out    io.Writer
	dir    string
	client *decisionv1.Client
	people *admin.Client
	step   int
}

func runDemo(ctx context.Context, out io.Writer, keep string) (err error) {
	dir, cleanup, err := demoDir(keep)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cleanup()) }()

	// The walk decides with the real service, on a real socket.
	data := filepath.Join(dir, "data")
	policy := filepath.Join(dir, "hookpolicy.yaml")
	if err := errors.Join(os.Mkdir(data, 0o750), os.WriteFile(policy, []byte(strings.ReplaceAll(demoPolicy, "/data/customer-a", data)), 0o600)); err != nil {
		return fmt.Errorf("prepare the demo: %w", err)
	}
	if err := os.WriteFile(filepath.Join(data, "notes.txt"), []byte("hello\n"), 0o600); err != nil {
		return fmt.Errorf("prepare the demo: %w", err)
	}
	c := config{
		policies: []string{policy}, auditDir: filepath.Join(dir, "audit"), listen: "127.0.0.1:0",
		replica: "demo", unmatched: "Deny", adminSocket: filepath.Join(dir, defaultAdminSocket),
	}
	s, err := newService(ctx, c, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.run(serving) }()

	d := &demo{out: out, dir: dir, people: admin.NewClient(c.adminSocket)}
	walkErr := d.walk(ctx, "http://"+s.addr())
	stop()
	if err := errors.Join(walkErr, <-ended); err != nil {
		return err
	}
	return d.verify(c.auditDir)
}

func demoDir(keep string) (dir string, cleanup func() error, err error) {
	if keep != "" {
		if err := os.Mkdir(keep, 0o750); err != nil {
			return "", nil, fmt.Errorf("make the demo's directory: %w", err)
		}
		dir, err := filepath.Abs(keep)
		return dir, func() error { return nil }, err
	}
	dir, err = os.MkdirTemp("", "hookpolicy-demo-")
	return dir, func() error { return os.RemoveAll(dir) }, err
}

// walk makes the calls and checks that each is answered as the text says.
func (d *demo) walk(ctx context.Context, url string) error {
	client, err := decisionv1.New(url, decisionv1.Options{})
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	d.client = client
	d.say("One agent of customer-a calls its tools. Before each call it asks %s", url)
	d.say("The policy: files stay in %s, SQL that loses data asks a person, searches see one tenant.\n", filepath.Join(d.dir, "data"))

	del := map[string]any{"sql": "DELETE FROM orders"}
	if _, err := d.call(ctx, "A file outside the tenant's directory is denied.",
		"kb_add_file", map[string]any{"path": "/etc/passwd"}, decisionv1.Deny); err != nil {
		return err
	}
	if _, err := d.call(ctx, "A search runs, but with the tenant that the policy sets.",
		"crm_search", map[string]any{"query": "refunds", "tenant": "customer-b"}, decisionv1.Rewrite); err != nil {
		return err
	}
	asked, err := d.call(ctx, "A DELETE without WHERE is held until a person has seen it.", "db_query_sql", del, decisionv1.AskUser)
	if err != nil {
		return err
	}
	confirmed := map[string]any{"sql": "DELETE FROM orders", "confirm_destructive": true, "hook_approval": asked.Approval.ID}
	if _, err := d.call(ctx, "The agent says that it was confirmed. Nobody has: it is still held.", "db_query_sql", confirmed, decisionv1.AskUser); err != nil {
		return err
	}
	if err := d.approve(ctx, asked.Approval.ID); err != nil {
		return err
	}
	if _, err := d.call(ctx, "The same call again passes, this once.", "db_query_sql", confirmed, decisionv1.Allow); err != nil {
		return err
	}
	if _, err := d.call(ctx, "And once more it is held again: an approval is for one call.", "db_query_sql", confirmed, decisionv1.AskUser); err != nil {
		return err
	}
	if _, err := d.call(ctx, "DROP DATABASE is denied, whoever confirms it.",
		"db_query_sql", map[string]any{"sql": "DROP DATABASE shop", "confirm_destructive": true}, decisionv1.Deny); err != nil {
		return err
	}
	_, err = d.call(ctx, "A harmless query runs as it is.", "db_query_sql", map[string]any{"sql": "SELECT count(*) FROM orders WHERE state = 'refunded'"}, decisionv1.Allow)
	return err
}

// call makes one call, prints question and answer, and fails the demo if the
// answer is not the one announced.
func (d *demo) call(ctx context.Context, text, tool string, args map[string]any, want decisionv1.Decision) (*decisionv1.Response, error) {
	d.step++
	raw, err := json.Marshal(args)
	if err != nil {
		return nil, fmt.Errorf("write the arguments: %w", err)
	}
	d.say("%d. %s", d.step, text)
	d.say("   agent asks   %s %s", tool, raw)
	resp, err := d.client.Decide(ctx, decisionv1.Request{Tool: tool, Args: raw, Session: "demo"})
	if err != nil {
		return nil, fmt.Errorf("ask about %s: %w", tool, err)
	}
	line := string(resp.Decision)
	switch {
	case resp.Decision == decisionv1.Allow || resp.Decision == decisionv1.Rewrite:
		line += " " + string(resp.Args)
	case resp.Reason != nil:
		line += " (" + resp.Reason.Code + ") " + resp.Reason.Message
	}
	d.say("   answer       %s", line)
	if resp.Approval != nil && resp.Decision == decisionv1.AskUser {
		d.say("   people see   %s", resp.Approval.Prompt)
		d.say("   until        %s, or it is refused", resp.Approval.ExpiresAt.Format(time.RFC3339))
	}
	if resp.Audit != nil {
		d.say("   recorded as  number %s of its chain, %s…", resp.Audit.Seq, resp.Audit.Hash[:16])
	}
	d.say("")
	if resp.Decision != want {
		return nil, fmt.Errorf("%s was answered with %s instead of %s", tool, resp.Decision, want)
	}
	return resp, nil
}

// approve is what hookpolicy approve does.
func (d *demo) approve(ctx context.Context, id string) error {
	me := "somebody"
	if u, err := user.Current(); err == nil {
		me = u.Username
	}
	d.say("   %s runs: hookpolicy approve %s\n", me, id)
	a, err := d.people.Approve(ctx, id, "old test data")
	if err != nil {
		return fmt.Errorf("approve the call: %w", err)
	}
	if a.State != approval.Approved {
		return fmt.Errorf("the approval is %s after it was given", a.State)
	}
	return nil
}

// verify reads the chain back, and then a copy in which one byte is another.
func (d *demo) verify(auditDir string) error {
	d.say("The agent is done. Is the record whole?\n")
	d.say("$ hookpolicy audit verify %s", auditDir)
	good, err := verifyAudit(d.out, auditDir)
	if err != nil {
		return err
	}
	if !good {
		return errors.New("the chain that was just written does not verify")
	}
	copied := filepath.Join(d.dir, "copy-of-audit")
	if err := os.CopyFS(copied, os.DirFS(auditDir)); err != nil {
		return fmt.Errorf("copy the audit directory: %w", err)
	}
	if err := changeOneByte(copied); err != nil {
		return err
	}
	d.say("\nSomebody changes one byte of a copy, so that the record says order5 instead of orders.\n")
	d.say("$ hookpolicy audit verify %s", copied)
	good, err = verifyAudit(d.out, copied)
	if err != nil {
		return err
	}
	if good {
		return errors.New("a changed chain verifies")
	}
	d.say("\nThat is the main job. For your own agents: hookpolicy serve --policy FILE --audit-dir DIR")
	return nil
}

// changeOneByte turns the first "DELETE FROM orders" in the chain of the
// tenant into "DELETE FROM order5".
func changeOneByte(auditDir string) error {
	const from, to = "DELETE FROM orders", "DELETE FROM order5"
	files, err := filepath.Glob(filepath.Join(auditDir, "t", "*", "log", "*.jsonl"))
	if err != nil {
		return fmt.Errorf("find the chains: %w", err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			return fmt.Errorf("read a chain: %w", err)
		}
		if changed := strings.Replace(string(b), from, to, 1); changed != string(b) {
			return os.WriteFile(name, []byte(changed), 0o600)
		}
	}
	return errors.New("no record of the DELETE in the chain")
}

func (d *demo) say(format string, args ...any) { fmt.Fprintf(d.out, format+"\n", args...) }
