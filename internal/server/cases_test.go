package server_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
)

// refusalOfCase says how each malformed document of the cases is refused. Rows
// that are no documents, or that a hook decides, are tested elsewhere:
// req-protocol-008, -010 and req-size-depth-006, -007, -008 in this package;
// req-protocol-012, -013 with the engine's call ids; req-size-depth-009 with
// the SQL hook.
var refusalOfCase = map[string]string{
	"req-case-keys-001":      "request.case_variant",
	"req-case-keys-002":      "request.case_variant",
	"req-duplicate-keys-001": "request.duplicate_key",
	"req-duplicate-keys-003": "request.duplicate_key",
	"req-duplicate-keys-004": "request.duplicate_key",
	"req-duplicate-keys-007": "request.duplicate_key",
	"req-duplicate-keys-008": "request.duplicate_key",
	"req-numbers-005":        "request.syntax",
	"req-numbers-006":        "request.syntax",
	"req-numbers-008":        "request.number",
	"req-protocol-001":       "request.not_object",
	"req-protocol-002":       "request.jsonrpc",
	"req-protocol-005":       "request.jsonrpc",
	"req-size-depth-003":     "request.too_many_keys",
	"req-syntax-001":         "request.syntax",
	"req-syntax-002":         "request.syntax",
	"req-syntax-003":         "request.syntax",
	"req-syntax-005":         "request.syntax",
	"req-syntax-008":         "request.encoding",
	"req-syntax-010":         "request.encoding",
	"req-syntax-012":         "request.syntax",
	"req-types-001":          "request.tool",
	"req-types-003":          "request.tool",
	"req-types-004":          "request.args",
	"req-types-005":          "request.args",
	"req-types-006":          "request.args",
	"req-types-011":          "request.tool",
	"req-types-013":          "request.not_object",
	"req-types-014":          "request.not_object",
}

// reachesTheChain are the documents that are calls: what becomes of them is
// the chain's decision, not the server's.
var reachesTheChain = map[string]bool{
	"req-baseline-001": true, "req-baseline-002": true, "req-baseline-004": true,
	"req-numbers-003": true, // -0 is a number and stays as written
	"req-types-010":   true, // so is 1e400; the SQL hook wants a string
}

type requestCase struct {
	ID   string `json:"id"`
	Call struct {
		Raw         string `json:"raw"`
		RawB64      []byte `json:"raw_b64"`
		RawB64Gzip  string `json:"raw_b64_gzip"`
		Description string `json:"description"`
	} `json:"call"`
	Expect         string   `json:"expect"`
	AlsoDefensible []string `json:"also_defensible"`
	Code           string   `json:"code"` // of requests-more.jsonl; "" if the document is a call
}

func (c requestCase) document(t testing.TB) []byte {
	t.Helper()
	switch {
	case c.Call.RawB64 != nil:
		return c.Call.RawB64
	case c.Call.RawB64Gzip == "":
		return []byte(c.Call.Raw)
	}
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(c.Call.RawB64Gzip)))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func requestCases(t testing.TB, name string) []requestCase {
	t.Helper()
	f, err := os.ReadFile("../../test/cases/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var cases []requestCase
	lines := bufio.NewScanner(bytes.NewReader(f))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c requestCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		if c.Call.Description == "" {
			cases = append(cases, c)
		}
	}
	if len(cases) < 30 {
		t.Fatalf("%d cases", len(cases))
	}
	return cases
}

func TestEveryMalformedRequestOfTheCasesIsRefusedAndRecorded(t *testing.T) {
	f := &fakeEngine{}
	srv := start(t, f, nil)
	for _, c := range requestCases(t, "requests.jsonl") {
		t.Run(c.ID, func(t *testing.T) {
			resp, doc := srv.do(t, http.MethodPost, "/v1/decide", string(c.document(t)), nil)
			if reachesTheChain[c.ID] {
				if resp.StatusCode != http.StatusOK || len(f.requests) == 0 {
					t.Fatalf("answer %d %s to a call", resp.StatusCode, doc)
				}
				return
			}
			code := refusalOfCase[c.ID]
			if code == "" {
				t.Fatal("the case has no code")
			}
			wantDeny(t, f, http.StatusBadRequest, doc, resp.StatusCode, code, etl.String())
		})
	}
	if calls := len(f.requests); calls != len(reachesTheChain) {
		t.Errorf("%d calls reached the engine, want %d", calls, len(reachesTheChain))
	}
}

func TestEveryFurtherMalformedRequestHasTheCodeThatItsCaseNames(t *testing.T) {
	for _, c := range requestCases(t, "requests-more.jsonl") {
		t.Run(c.ID, func(t *testing.T) {
			f := &fakeEngine{}
			srv := start(t, f, nil)
			resp, doc := srv.do(t, http.MethodPost, "/v1/decide", string(c.document(t)), nil)
			if c.Code == "" {
				if resp.StatusCode != http.StatusOK || len(f.requests) != 1 {
					t.Fatalf("answer %d %s to a call", resp.StatusCode, doc)
				}
				return
			}
			wantDeny(t, f, http.StatusBadRequest, doc, resp.StatusCode, c.Code, etl.String())
		})
	}
}
