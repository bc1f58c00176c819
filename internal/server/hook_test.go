package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/internal/approval"
	"github.com/hookpolicy/hookpolicy/internal/engine"
	"github.com/hookpolicy/hookpolicy/internal/server"
)

// claudeEvent is an event of Claude Code for the tool of the made-up hook.
func claudeEvent(id, what string) string {
	return `{"session_id":"s","permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"tool","tool_input":{"do":"` +
		what + `"},"tool_use_id":"` + id + `"}`
}

// claudeDeny returns the reason of Claude Code's deny, and fails on any other
// answer.
func claudeDeny(t *testing.T, resp *http.Response, doc []byte) string {
	t.Helper()
	var got struct {
		Output struct {
			Event    string `json:"hookEventName"`
			Decision string `json:"permissionDecision"`
			Reason   string `json:"permissionDecisionReason"`
		} `json:"hookSpecificOutput"`
	}
	if err := json.Unmarshal(doc, &got); err != nil {
		t.Fatalf("answer %q: %v", doc, err)
	}
	if resp.StatusCode != http.StatusOK || got.Output.Event != "PreToolUse" || got.Output.Decision != "deny" || got.Output.Reason == "" {
		t.Fatalf("answer %d %s, want 200 with a deny", resp.StatusCode, doc)
	}
	return got.Output.Reason
}

func TestAHooksCallReachesTheEngineUnderTheTransportsCaller(t *testing.T) {
	f := &fakeEngine{}
	srv := start(t, f, nil)
	resp, doc := srv.do(t, http.MethodPost, "/v1/hooks/claude-code", claudeEvent("t1", "x"), nil)
	if resp.StatusCode != http.StatusOK || string(doc) != "{}\n" || resp.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("answer %d %s", resp.StatusCode, doc)
	}
	got := f.requests[0]
	if f.callers[0] != etl || got.Tool != "tool" || got.Args["do"] != "x" || got.CallID != "claude-code:t1" || got.Session != "s" || got.Stopping == nil {
		t.Errorf("caller %v, request %+v", f.callers[0], got)
	}
}

func TestAHookWaitsAsItsAddressSays(t *testing.T) {
	for query, want := range map[string]time.Duration{
		"":                         20 * time.Second,
		"?waitSeconds=0":           0,
		"?waitSeconds=300":         300 * time.Second,
		"?ask=user":                0, // the agent asks at once
		"?ask=user&waitSeconds=9":  9 * time.Second,
		"?waitSeconds=7&unknown=1": 7 * time.Second,
	} {
		f := &fakeEngine{}
		start(t, f, nil).do(t, http.MethodPost, "/v1/hooks/claude-code"+query, claudeEvent("", "x"), nil)
		if len(f.requests) != 1 || f.requests[0].Wait != want {
			t.Errorf("%q: requests %+v, want a wait of %v", query, f.requests, want)
		}
	}
	f := &fakeEngine{}
	start(t, f, nil).do(t, http.MethodPost, "/v1/hooks/codex?ask=user", claudeEvent("", "x"), nil)
	if f.requests[0].Wait != 20*time.Second {
		t.Errorf("an agent that does not ask waits %v", f.requests[0].Wait)
	}
}

// Most agents take any status but 200 for no objection.
func TestWhateverGoesWrongInADialectIsItsDenyWith200AndRecorded(t *testing.T) {
	tokens := func(t *testing.T) server.Authenticator {
		t.Helper()
		path := filepath.Join(t.TempDir(), "tokens")
		writeFile(t, path, token1+",customer-a,etl-agent\n")
		a, err := server.NewTokenFile(path, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	valid := claudeEvent("", "x")
	for name, tc := range map[string]struct {
		method, path, body string
		header             http.Header
		tokens             bool
		code, caller       string
	}{
		"another event":            {"POST", "", strings.Replace(valid, "PreToolUse", "PostToolUse", 1), nil, false, "request.dialect", etl.String()},
		"no JSON":                  {"POST", "", "tool=x", nil, false, "request.syntax", etl.String()},
		"a member twice":           {"POST", "", `{"tool_name":"a",` + valid[1:], nil, false, "request.duplicate_key", etl.String()},
		"a question of our own":    {"POST", "", question, nil, false, "request.dialect", etl.String()},
		"another method":           {"GET", "", "", nil, false, "request.method", etl.String()},
		"a body that is too large": {"POST", "", valid + strings.Repeat(" ", 1<<20), nil, false, "request.too_large", etl.String()},
		"a compressed body":        {"POST", "", valid, http.Header{"Content-Encoding": {"gzip"}}, false, "request.encoding", etl.String()},
		"no token":                 {"POST", "", valid, nil, true, "caller.unauthenticated", ""},
		"a page of another origin": {"POST", "", valid, http.Header{"Origin": {"https://evil.example"}}, false, "request.cross_origin", ""},
		"a wait that is too long":  {"POST", "?waitSeconds=301", valid, nil, false, "request.wait", etl.String()},
		"a wait with a unit":       {"POST", "?waitSeconds=30s", valid, nil, false, "request.wait", etl.String()},
		"two waits":                {"POST", "?waitSeconds=1&waitSeconds=2", valid, nil, false, "request.wait", etl.String()},
		"a query that is broken":   {"POST", "?waitSeconds=%zz", valid, nil, false, "request.wait", etl.String()},
		"an unknown way to ask":    {"POST", "?ask=model", valid, nil, false, "request.ask", etl.String()},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fakeEngine{}
			srv := start(t, f, func(c *server.Config) {
				if tc.tokens {
					c.Authenticator = tokens(t)
				}
			})
			resp, doc := srv.do(t, tc.method, "/v1/hooks/claude-code"+tc.path, tc.body, tc.header)
			if reason := claudeDeny(t, resp, doc); !strings.Contains(reason, "("+tc.code+")") {
				t.Errorf("reason %q, want %s", reason, tc.code)
			}
			if got := f.refused(); len(got) != 1 || got[0] != (refusal{tc.caller, tc.code}) || len(f.requests) != 0 {
				t.Errorf("recorded %v, want %s of %q; %d requests", got, tc.code, tc.caller, len(f.requests))
			}
		})
	}
}

func TestAnUnknownDialectIsRefusedLikeAnyRequest(t *testing.T) {
	for _, name := range []string{"", "openclaw", "Claude-Code", "claude-code/", "claude-code/x"} {
		f := &fakeEngine{}
		resp, doc := start(t, f, nil).do(t, http.MethodPost, "/v1/hooks/"+name, claudeEvent("", "x"), nil)
		wantDeny(t, f, http.StatusNotFound, doc, resp.StatusCode, "request.dialect", etl.String())
	}
}

func TestAnEngineThatGivesNoAnswerIsADenyInTheDialect(t *testing.T) {
	for name, decide := range map[string]func(context.Context, engine.Request) *decisionv1.Response{
		"nothing":       func(context.Context, engine.Request) *decisionv1.Response { return nil },
		"a zero answer": func(context.Context, engine.Request) *decisionv1.Response { return new(decisionv1.Response) },
		"an allow of nothing": func(context.Context, engine.Request) *decisionv1.Response {
			return &decisionv1.Response{Decision: decisionv1.Allow}
		},
		"an allow of half a text": func(context.Context, engine.Request) *decisionv1.Response {
			return &decisionv1.Response{Decision: decisionv1.Allow, Args: json.RawMessage("{")}
		},
		"a panic": func(context.Context, engine.Request) *decisionv1.Response { panic("SELECT secret") },
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			f := &fakeEngine{decideFunc: decide}
			srv := start(t, f, func(c *server.Config) { c.Logger = logTo(&log) })
			resp, doc := srv.do(t, http.MethodPost, "/v1/hooks/claude-code", claudeEvent("", "x"), nil)
			if reason := claudeDeny(t, resp, doc); !strings.Contains(reason, "(service.failed)") {
				t.Errorf("reason %q", reason)
			}
			srv.stop()
			if err := <-srv.stopped; err != nil {
				t.Errorf("stopped with %v", err)
			}
			if strings.Contains(string(doc)+log.String(), "secret") {
				t.Error("a word of the call leaves")
			}
		})
	}
}

func TestARewriteThatAnAgentCannotObeyIsDeniedAndRecorded(t *testing.T) {
	f := &fakeEngine{decideFunc: func(context.Context, engine.Request) *decisionv1.Response {
		return &decisionv1.Response{Decision: decisionv1.Rewrite, Args: json.RawMessage(`{"do":"y"}`)}
	}}
	resp, doc := start(t, f, nil).do(t, http.MethodPost, "/v1/hooks/codex", claudeEvent("", "x"), nil)
	if reason := claudeDeny(t, resp, doc); !strings.Contains(reason, "(dialect.no_rewrite)") {
		t.Errorf("reason %q", reason)
	}
	if got := f.refused(); len(got) != 1 || got[0] != (refusal{etl.String(), "dialect.no_rewrite"}) {
		t.Errorf("recorded %v", got)
	}
}

func TestACursorHookIsAnsweredInTheWordsOfItsEvent(t *testing.T) {
	deny := func(context.Context, engine.Request) *decisionv1.Response {
		return &decisionv1.Response{Decision: decisionv1.Deny, Reason: &decisionv1.Reason{Code: "c", Message: "m"}}
	}
	_, doc := start(t, &fakeEngine{decideFunc: deny}, nil).
		do(t, http.MethodPost, "/v1/hooks/cursor", `{"hook_event_name":"beforeReadFile","file_path":"/etc/shadow","content":"x"}`, nil)
	if string(doc) != `{"permission":"deny"}`+"\n" {
		t.Errorf("answer %s", doc)
	}
}

// The whole service behind Claude Code's hook: every decision, a person's
// approval, and a log that holds all of it and verifies.
func TestClaudeCodeIsServedByTheWholeChain(t *testing.T) {
	w := startWhole(t)
	ask := func(id, what string) (*http.Response, []byte) {
		return w.do(t, http.MethodPost, "/v1/hooks/claude-code?waitSeconds=0", claudeEvent(id, what), nil)
	}
	if _, doc := ask("t1", "allow"); string(doc) != "{}\n" {
		t.Errorf("allow: %s", doc)
	}
	resp, doc := ask("t2", "deny")
	if reason := claudeDeny(t, resp, doc); reason != "HookPolicy: no (test.denied)" {
		t.Errorf("deny: %q", reason)
	}
	const rewrite = `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"do":"allow"}}}` + "\n"
	for range 2 { // the second is a retry under the same id
		if _, doc := ask("t3", "rewrite"); string(doc) != rewrite {
			t.Errorf("rewrite: %s", doc)
		}
	}
	resp, doc = ask("t3", "allow")
	if reason := claudeDeny(t, resp, doc); !strings.Contains(reason, "(call.id_reused)") {
		t.Errorf("the id of another call: %q", reason)
	}

	resp, doc = ask("t4", "ask")
	reason := claudeDeny(t, resp, doc)
	_, rest, _ := strings.Cut(reason, "approval ")
	id, _, found := strings.Cut(rest, " is pending")
	if !found {
		t.Fatalf("reason %q does not name the approval", reason)
	}
	if _, err := w.engine.Desk().Vote(t.Context(), id, approval.Vote{User: "alice", Approve: true, Via: "test"}); err != nil {
		t.Fatal(err)
	}
	if _, doc := ask("t5", "ask"); string(doc) != "{}\n" {
		t.Errorf("the identical call, approved: %s", doc)
	}
	resp, doc = ask("t6", "ask")
	claudeDeny(t, resp, doc) // an approval passes one call

	resp, doc = w.do(t, http.MethodPost, "/v1/hooks/claude-code", `{"hook_event_name":"Stop"}`, nil)
	claudeDeny(t, resp, doc)
	resp, doc = w.do(t, http.MethodPost, "/v1/hooks/codex", claudeEvent("t7", "rewrite"), nil)
	claudeDeny(t, resp, doc)
	text := w.logText(t)
	for _, want := range []string{"claude-code:t1", "claude-code:t5", "codex:t7", "request.dialect", "dialect.no_rewrite", "test.denied"} {
		if !strings.Contains(text, `"`+want+`"`) {
			t.Errorf("the log does not hold %s", want)
		}
	}
}

func TestAHookThatWaitsIsAnsweredOnceAPersonHasDecided(t *testing.T) {
	w := startWhole(t)
	events := w.engine.Subscribe(t.Context(), etl)
	answer := make(chan string, 1)
	go func() {
		_, doc := w.do(t, http.MethodPost, "/v1/hooks/gemini?waitSeconds=300",
			`{"hook_event_name":"BeforeTool","session_id":"s","tool_name":"tool","tool_input":{"do":"ask"}}`, nil)
		answer <- string(doc)
	}()
	e := <-events
	if e.Data.Approval == nil {
		t.Fatalf("event %+v", e)
	}
	if _, err := w.engine.Desk().Vote(t.Context(), e.Data.Approval.ID, approval.Vote{User: "alice", Approve: true, Via: "test"}); err != nil {
		t.Fatal(err)
	}
	if got := <-answer; got != `{"decision":"allow"}`+"\n" {
		t.Errorf("answer %s", got)
	}
}
