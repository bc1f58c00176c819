package card_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/hookpolicy/hookpolicy/internal/approval"
	"github.com/hookpolicy/hookpolicy/internal/card"
	"github.com/hookpolicy/hookpolicy/internal/chain"
)

var update = flag.Bool("update", false, "write the golden files")

var now = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

func held(change ...func(*approval.Approval)) *card.Card {
	a := approval.Approval{
		ID: "ap-1", State: approval.Pending, Prompt: "The agent wants to run SQL: DELETE on orders WITHOUT WHERE: all rows",
		Details: []string{"environment: production"}, Risk: chain.RiskHigh, RiskReasons: []string{"the environment is production"},
		Args: map[string]any{"sql": "DELETE FROM orders", "limit": json.Number("9007199254740993")}, Tool: "db_query_sql", Session: "s1",
		Asks:      []approval.Ask{{Hook: "customer-a/customer-a/no-accidents"}},
		Requester: chain.Caller{Namespace: "customer-a", ServiceAccount: "etl-agent"},
		Policy:    approval.Policy{Name: "customer-a/customer-a", Generation: 3},
		CreatedAt: now.Add(-time.Minute), DecideBy: now.Add(4 * time.Minute), MinimumApprovers: 2,
		Votes: []approval.Vote{{User: "alice", Approve: true, Reason: "agreed with the owner", At: now}},
	}
	for _, f := range change {
		f(&a)
	}
	c := card.Of(a)
	return &c
}

func show(t *testing.T, c *card.Card) (text, markdown string) {
	t.Helper()
	var plain, md bytes.Buffer
	if err := c.Text(&plain, now); err != nil {
		t.Fatal(err)
	}
	if err := c.Markdown(&md, now); err != nil {
		t.Fatal(err)
	}
	return plain.String(), md.String()
}

func TestACardSaysAllThatADeciderNeeds(t *testing.T) {
	text, markdown := show(t, held())
	for name, got := range map[string]string{"card.txt": text, "card.md": markdown} {
		if *update {
			if err := os.WriteFile(filepath.Join("testdata", name), []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestNothingInACallChangesHowItIsShown(t *testing.T) {
	for name, bad := range map[string]string{
		"an escape sequence":   "\x1b[2J\x1b[1;1HAll is well",
		"a bidi override":      "DELETE \u202eSREDRO",
		"a line of its own":    "x\n  State      Approved\n```\n**Approved** by alice",
		"a long fence":         "```````` end of code",
		"a mention and a link": "@channel [click](https://evil.example) <script>alert(1)</script> ![i](x)",
		"zero width and tags":  "a\u200bb\U000e0041c",
		"text out of sight":    strings.Repeat(" ", 4000) + "DROP TABLE users",
		"a very long argument": strings.Repeat("A", 100_000),
		"only a backtick":      "`",
	} {
		t.Run(name, func(t *testing.T) {
			text, markdown := show(t, held(func(a *approval.Approval) {
				a.Prompt, a.Details, a.Tool, a.Session = approval.Safe(bad, approval.MaxPrompt), []string{approval.Safe(bad, approval.MaxDetail)}, bad, bad
				a.Args = map[string]any{"sql": bad, bad: []any{bad}}
				a.Votes[0].Reason, a.RiskReasons = bad, []string{bad}
			}))
			for kind, shown := range map[string]string{"text": text, "markdown": markdown} {
				for _, r := range shown {
					if r != '\n' && !unicode.IsPrint(r) {
						t.Fatalf("%s shows %U", kind, r)
					}
				}
				if len(shown) > 200_000 {
					t.Errorf("%s has %d bytes", kind, len(shown))
				}
			}
			if n := strings.Count(text, "\n  State "); n != 1 {
				t.Errorf("%d lines with a state:\n%s", n, text)
			}
			if outside := outsideCode(markdown); strings.ContainsAny(outside, "@[<!") || strings.Contains(outside, "evil") {
				t.Errorf("mark-up outside of code: %q", outside)
			}
		})
	}
}

// outsideCode is what of a Markdown text is in no code span and no fence, by
// CommonMark's rule: code ends at the next run of as many backticks as began it.
func outsideCode(markdown string) string {
	var out strings.Builder
	for rest := markdown; rest != ""; {
		i := strings.IndexByte(rest, '`')
		if i < 0 {
			out.WriteString(rest)
			break
		}
		out.WriteString(rest[:i])
		rest = rest[i:]
		run := len(rest) - len(strings.TrimLeft(rest, "`"))
		rest = rest[run:]
		for rest != "" {
			j := strings.IndexByte(rest, '`')
			if j < 0 {
				return out.String() + "@" // never closed
			}
			rest = rest[j:]
			end := len(rest) - len(strings.TrimLeft(rest, "`"))
			rest = rest[end:]
			if end == run {
				break
			}
		}
	}
	return out.String()
}
