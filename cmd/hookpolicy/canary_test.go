package main

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
)

// canaries makes secrets of the form of a forge's token, each one once, and
// remembers where each was planted.
type canaries map[string]string

func (c canaries) plant(where string) string {
	secret := fmt.Sprintf("ghp_Zq8canary%03dxyzxyzxyzxyzxyzxyzxyzxyz", len(c))
	c[secret[4:]] = where // without the prefix: cut in half, it is still one
	return secret
}

// search fails if a planted secret is in an output.
func (c canaries) search(t *testing.T, output, text string) {
	t.Helper()
	for secret, where := range c {
		if n := strings.Index(text, secret[:12]); n >= 0 {
			t.Errorf("what was planted as %s is in %s: %.300q", where, output, text[max(0, n-120):min(len(text), n+160)])
		}
	}
}

// canaryPolicy has a hook of each kind that makes texts out of a call.
const canaryPolicy = strict + `  hooks:
  - name: paths
    pathAllowlist:
      arguments: [{tool: kb_add_file, path: path}]
      roots: [/data/customer-a]
      resolve: Agent
  - name: sql
    destructiveSQL:
      arguments: [{tool: db_query_sql, path: sql}]
      data: [{tool: db_query_sql, path: params}, {tool: db_query_sql, path: table, type: identifier}]
`

// requests are the requests that secrets are planted in: every member of every
// kind of request, well-formed or not.
func (c canaries) requests() map[string]string {
	p := c.plant
	bodies := map[string]string{
		"an argument":                 `{"tool":"db_query_sql","args":{"sql":"DELETE FROM orders","params":["` + p("a value") + `"]}}`,
		"a named argument":            `{"tool":"db_query_sql","args":{"sql":"DELETE FROM orders WHERE a = 1","params":{"password":"` + p("a value under password")[4:] + `"}}}`,
		"a name of an argument":       `{"tool":"db_query_sql","args":{"sql":"SELECT 1","` + p("an undeclared name") + `":1}}`,
		"a deep name":                 `{"tool":"db_query_sql","args":{"sql":"SELECT 1","params":[{"` + p("a deep name") + `":1}]}}`,
		"a literal":                   `{"tool":"db_query_sql","args":{"sql":"UPDATE u SET password = '` + p("a literal")[4:] + `' WHERE id = 1"}}`,
		"a literal of a denied text":  `{"tool":"db_query_sql","args":{"sql":"DROP DATABASE x; ALTER ROLE a PASSWORD '` + p("a literal of a denied text")[4:] + `'"}}`,
		"a text that does not parse":  `{"tool":"db_query_sql","args":{"sql":"ALTER ROLE a PASSWORD '` + p("a literal that is not closed")[4:] + `"}}`,
		"the name of a table":         `{"tool":"db_query_sql","args":{"sql":"DELETE FROM \"` + p("the name of a table") + `\""}}`,
		"the name of a function":      `{"tool":"db_query_sql","args":{"sql":"SELECT \"` + p("the name of a function") + `\"()"}}`,
		"a datum of a wrong type":     `{"tool":"db_query_sql","args":{"sql":"SELECT 1","table":"a-` + p("a datum of a wrong type") + `"}}`,
		"an argument of a wrong type": `{"tool":"db_query_sql","args":{"sql":{"` + p("an argument of a wrong type") + `":1}}}`,
		"a path":                      `{"tool":"kb_add_file","args":{"path":"/etc/` + p("a path outside") + `"}}`,
		"a path that is resolved":     `{"tool":"kb_add_file","args":{"path":"/data/customer-a/x"},"resolved":{"/data/customer-a/x":"/etc/` + p("what a path resolves to") + `"}}`,
		"a path that is not resolved": `{"tool":"kb_add_file","args":{"path":"/data/customer-a/y"},"resolved":{"/` + p("a name of resolved") + `":"/x"}}`,
		"a tool":                      `{"tool":"` + p("the tool") + `","args":{}}`,
		"a look-alike":                `{"tool":"db_query_sql ` + p("a look-alike") + `","args":{}}`,
		"a prefixed tool":             `{"tool":"mcp__` + p("a server") + `__db_query_sql","args":{"sql":"DELETE FROM orders"}}`,
		"a session":                   `{"tool":"db_query_sql","args":{"sql":"DELETE FROM a"},"session":"` + p("the session") + `"}`,
		"hints":                       `{"tool":"db_query_sql","args":{"sql":"DELETE FROM b"},"hints":{"branch":"` + p("a hint") + `"}}`,
		"a callId":                    `{"callId":"` + p("the callId") + `","tool":"db_query_sql","args":{"sql":"DELETE FROM c"}}`,
		"an unknown member":           `{"` + p("an unknown member") + `":1,"tool":"db_query_sql","args":{"sql":"DELETE FROM d"}}`,
		"what is no JSON":             `{"tool":"db_query_sql","args":{"password":"` + p("what is no JSON")[4:] + `"`,
		"a duplicate":                 `{"tool":"db_query_sql","` + p("a duplicate") + `":1,"` + p("another duplicate") + `":1,"tool":"x"}`,
		"a wrong type":                `{"tool":["` + p("a tool of a wrong type") + `"],"args":"` + p("arguments of a wrong type") + `"}`,
		"trailing text":               `{"tool":"db_query_sql","args":{}} ` + p("trailing text"),
		"no UTF-8":                    "{\"tool\":\"" + p("what is no UTF-8") + "\xff\",\"args\":{}}",
		"a long session":              `{"tool":"db_query_sql","args":{"sql":"SELECT 1"},"session":"` + strings.Repeat("x ", 2000) + p("the end of a long session") + `"}`,
		"a wrong wait":                `{"tool":"db_query_sql","args":{"sql":"SELECT 1"},"waitSeconds":"` + p("a wrong wait") + `"}`,
	}
	return bodies
}

// ask sends a request with a secret in its headers and address, too, and
// returns all of the answer.
func (c canaries) ask(t *testing.T, p *process, method, path, body, token string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, p.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("X-Api-Key", c.plant("a header"))
	req.Header.Set("User-Agent", c.plant("the user agent"))
	req.Header.Set("Traceparent", c.plant("the trace"))
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(answer.Header) + string(text)
}

func TestASecretThatIsPlantedAnywhereComesOutNowhere(t *testing.T) {
	dir, planted := t.TempDir(), canaries{}
	token := planted.plant("the caller's token")
	socket := socketPath(t)
	p := serve(t, filepath.Join(dir, "audit"), write(t, dir, "p.yaml", policyYAML(canaryPolicy)),
		"--token-file", write(t, dir, "tokens", token+",customer-a,etl\n"), "--admin-socket", socket)
	events := subscribe(t, p, token)

	planted.search(t, "the answer to a wrong token", planted.ask(t, p, http.MethodPost, decisionv1.PathDecide, "{}", planted.plant("a wrong token")))
	for name, body := range planted.requests() {
		answer := planted.ask(t, p, http.MethodPost, decisionv1.PathDecide, body, token)
		if !strings.Contains(answer, `"decision":"Allow"`) && name != "a callId" { // the caller gets its own back
			planted.search(t, "the answer to "+name, answer)
		}
		for _, dialect := range []string{"claude-code", "cursor", planted.plant("a dialect")} {
			planted.search(t, "the answer of a dialect to "+name, planted.ask(t, p, http.MethodPost, "/v1/hooks/"+dialect+"?waitSeconds=0", body, token))
		}
		planted.ask(t, p, http.MethodPost, "/v1/outcomes", strings.ReplaceAll(body, `"tool"`, `"callId"`), token)
	}
	for _, sql := range []string{"DELETE FROM orders", "SELECT 1"} { // an agent of today, by its own protocol
		event := `{"session_id":"` + planted.plant("a session of a dialect") + `","hook_event_name":"PreToolUse","tool_name":"db_query_sql","tool_use_id":"` +
			planted.plant("a call of a dialect") + `","cwd":"/` + planted.plant("a directory") + `","tool_input":{"sql":"` + sql + `","params":["` + planted.plant("an input of a dialect") + `"]}}`
		answer := planted.ask(t, p, http.MethodPost, "/v1/hooks/claude-code?waitSeconds=0", event, token)
		if !strings.Contains(answer, "updatedInput") {
			planted.search(t, "the answer of a dialect", answer)
		}
	}
	outcome := `{"callId":"` + planted.plant("an outcome's call") + `","audit":{"chain":"` + planted.plant("an outcome's chain") + `","seq":"1","hash":"` + planted.plant("an outcome's hash") +
		`"},"status":"error","error":"` + planted.plant("an outcome's error") + `","resultDigest":"` + planted.plant("an outcome's digest") + `"}`
	planted.ask(t, p, http.MethodPost, "/v1/outcomes", outcome, token) // answered with its own callId
	for _, path := range []string{"/v1/approvals/" + planted.plant("an approval"), "/" + planted.plant("a path"), "/v1/decide?token=" + planted.plant("a query"), "/metrics", "/readyz"} {
		planted.search(t, "the answer to GET "+path[:4], planted.ask(t, p, http.MethodGet, path, "", token))
	}

	status, pending, errs := hookpolicy(t, "", "pending", "--admin-socket", socket)
	if status != exitOK || !strings.Contains(pending, "DELETE on orders") {
		t.Fatalf("pending: %d\n%s%s", status, pending, errs)
	}
	planted.search(t, "the pending approvals", pending+errs)
	if seen := events(); !strings.Contains(seen, decisionv1.EventAsk) || !strings.Contains(seen, decisionv1.EventDenied) {
		t.Errorf("events: %q", seen)
	} else {
		planted.search(t, "the events", seen)
	}
	if err := p.stop(t); err != nil {
		t.Errorf("stop: %v", err)
	}
	planted.search(t, "the log", p.logged())
	verified(t, p.auditDir)
	planted.searchFiles(t, p.auditDir)
	_, shown, _ := hookpolicy(t, "", "audit", "show", p.auditDir)
	planted.search(t, "audit show", shown)
	if len(planted) < 100 {
		t.Errorf("only %d secrets were planted", len(planted))
	}
}

// searchFiles looks at every byte below a directory, and at every name.
func (c canaries) searchFiles(t *testing.T, dir string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		c.search(t, filepath.Base(path), path+string(text))
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%d files: %v", files, err)
	}
}

// subscribe reads the events of a caller; what it returns ends that and gives
// what was read.
func subscribe(t *testing.T, p *process, token string) func() string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+"/v1/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var seen strings.Builder
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			mu.Lock()
			seen.WriteString(lines.Text() + "\n")
			mu.Unlock()
		}
	}()
	return func() string {
		eventually(t, "an ask and a denial are announced", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return strings.Contains(seen.String(), decisionv1.EventAsk) && strings.Contains(seen.String(), decisionv1.EventDenied)
		})
		resp.Body.Close()
		<-read
		return seen.String()
	}
}
