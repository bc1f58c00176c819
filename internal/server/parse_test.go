package server

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
	"github.com/hookpolicy/hookpolicy/internal/engine"
	"github.com/hookpolicy/hookpolicy/internal/server/request"
)

func TestAQuestionIsReadWhole(t *testing.T) {
	got, err := parseDecide([]byte(`{"callId":"c1","tool":"t","args":{"n":1.0},"resolved":{"a":"b"},"session":"s",
		"hints":{"x":[null]},"waitSeconds":300,"unknown":{"Tool":1},"_meta":1}`))
	if err != nil {
		t.Fatal(err)
	}
	want := engine.Request{
		CallID: "c1", Tool: "t", Session: "s", Args: map[string]any{"n": json.Number("1.0")},
		Hints: map[string]any{"x": []any{nil}}, Resolved: map[string]string{"a": "b"}, Wait: 300 * time.Second,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestAQuestionWithAWrongMemberIsRefused(t *testing.T) {
	for name, tc := range map[string]struct{ doc, code string }{
		"tool is empty":                     {`{"tool":"","args":{}}`, CodeTool},
		"tool is null":                      {`{"tool":null,"args":{}}`, CodeTool},
		"tool is too long":                  {`{"tool":"` + strings.Repeat("t", 513) + `","args":{}}`, CodeTool},
		"args is a string":                  {`{"tool":"t","args":"{}"}`, CodeArgs},
		"call id is a number":               {`{"tool":"t","args":{},"callId":1}`, CodeCallID},
		"call id is null":                   {`{"tool":"t","args":{},"callId":null}`, CodeCallID},
		"call id is too long":               {`{"tool":"t","args":{},"callId":"` + strings.Repeat("é", 65) + `"}`, CodeCallID},
		"session is an array":               {`{"tool":"t","args":{},"session":[]}`, CodeSession},
		"session is too long":               {`{"tool":"t","args":{},"session":"` + strings.Repeat("s", 257) + `"}`, CodeSession},
		"hints is an array":                 {`{"tool":"t","args":{},"hints":[]}`, CodeHints},
		"resolved holds a number":           {`{"tool":"t","args":{},"resolved":{"a":1}}`, CodeResolved},
		"resolved is a string":              {`{"tool":"t","args":{},"resolved":"a"}`, CodeResolved},
		"wait is a string":                  {`{"tool":"t","args":{},"waitSeconds":"3"}`, CodeWait},
		"wait has a fraction":               {`{"tool":"t","args":{},"waitSeconds":1.0}`, CodeWait},
		"wait has an exponent":              {`{"tool":"t","args":{},"waitSeconds":1e1}`, CodeWait},
		"wait is negative":                  {`{"tool":"t","args":{},"waitSeconds":-1}`, CodeWait},
		"wait is too long":                  {`{"tool":"t","args":{},"waitSeconds":301}`, CodeWait},
		"a key in another case":             {`{"tool":"t","args":{},"ARGS":{}}`, CodeCaseVariant},
		"a key with a long s":               {`{"tool":"t","arg\u017f":{}}`, CodeCaseVariant},
		"a key in capitals with a long s":   {`{"tool":"t","args":{},"ARG\u017f":{}}`, CodeCaseVariant},
		"a key of full width and capitals":  {`{"tool":"t","args":{},"\uff34\uff2f\uff2f\uff2c":"u"}`, CodeCaseVariant},
		"a key in another case, alone":      {`{"tool":"t","args":{},"callid":"x"}`, CodeCaseVariant},
		"a message of JSON-RPC with a call": {`{"jsonrpc":"2.0","tool":"t","args":{}}`, CodeJSONRPC},
		"a string":                          {`"tool"`, CodeNotObject},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseDecide([]byte(tc.doc))
			if err == nil {
				t.Fatal("was taken")
			}
			if got := refusalOf(err); got.code != tc.code || got.status != 400 {
				t.Errorf("refused with %d %s, want 400 %s", got.status, got.code, tc.code)
			}
		})
	}
}

func TestAnOutcomeIsReadWholeOrRefused(t *testing.T) {
	const audit = `"audit":{"chain":"c","seq":"18446744073709551615","hash":"h","more":1}`
	got, err := parseOutcome([]byte(`{"callId":"c1",` + audit + `,"status":"error","resultDigest":"sha256:00","error":"e","durationMs":7}`))
	if err != nil {
		t.Fatal(err)
	}
	want := decisionv1.Outcome{
		CallID: "c1", Audit: decisionv1.Receipt{Chain: "c", Seq: "18446744073709551615", Hash: "h"},
		Status: "error", ResultDigest: "sha256:00", Error: "e", DurationMs: 7,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outcome (-want +got):\n%s", diff)
	}
	for name, tc := range map[string]struct{ doc, code string }{
		"no audit":                {`{"status":"ok"}`, CodeReceipt},
		"audit in another case":   {`{"status":"ok","audit":{"chain":"c","seq":"1","hash":"h","Seq":"2"}}`, CodeCaseVariant},
		"a number for seq":        {`{"status":"ok","audit":{"chain":"c","seq":1,"hash":"h"}}`, CodeReceipt},
		"a word for seq":          {`{"status":"ok","audit":{"chain":"c","seq":"one","hash":"h"}}`, CodeReceipt},
		"no hash":                 {`{"status":"ok","audit":{"chain":"c","seq":"1"}}`, CodeReceipt},
		"no status":               {`{` + audit + `}`, CodeStatus},
		"another status":          {`{"status":"fine",` + audit + `}`, CodeStatus},
		"a negative duration":     {`{"status":"ok","durationMs":-1,` + audit + `}`, CodeDuration},
		"an error that is a list": {`{"status":"ok","error":[],` + audit + `}`, CodeError},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseOutcome([]byte(tc.doc))
			if err == nil || refusalOf(err).code != tc.code {
				t.Errorf("error %v, want %s", err, tc.code)
			}
		})
	}
}

func TestAWaitIsADurationOrSeconds(t *testing.T) {
	for value, want := range map[string]time.Duration{"30s": 30 * time.Second, "30": 30 * time.Second, "5m": 300 * time.Second, "0": 0} {
		if got, err := parseWait([]string{value}); err != nil || got != want {
			t.Errorf("%s is %v, %v", value, got, err)
		}
	}
	for _, values := range [][]string{{""}, {"301"}, {"5m1s"}, {"-1s"}, {"soon"}, {"1s", "1s"}} {
		if got, err := parseWait(values); err == nil {
			t.Errorf("%q was taken for %v", values, got)
		}
	}
}

// Whatever was taken for a question keeps the promises that the engine builds
// on; whatever was not has a code, and no word of the document in its text.
func FuzzDecideDocument(f *testing.F) {
	for _, seed := range []string{
		`{"tool":"t","args":{"a":[1,"b"]},"callId":"c","resolved":{"a":"b"},"hints":{},"waitSeconds":3}`,
		`{"tool":"t","args":{},"ARG\u017f":{}}`, `{"jsonrpc":"2.0"}`, `[]`, `{"tool":"t"`, `{"tool":"t","args":null}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		req, err := parseDecide(doc)
		if err != nil {
			r := refusalOf(err)
			if !strings.HasPrefix(r.code, "request.") || r.status < 400 || r.status >= 500 || r.message == "" {
				t.Fatalf("refused with %+v", r)
			}
			return
		}
		if req.Tool == "" || req.Args == nil || len(req.CallID) > request.MaxCallIDBytes || len(req.Session) > request.MaxSessionBytes ||
			req.Wait < 0 || req.Wait > decisionv1.MaxWaitSeconds*time.Second {
			t.Fatalf("took %+v", req)
		}
		// A reader that ignores case, as encoding/json does, sees the same call.
		var loose decisionv1.Request
		if err := json.Unmarshal(doc, &loose); err != nil {
			t.Fatalf("encoding/json: %v", err)
		}
		if loose.Tool != req.Tool || loose.CallID != req.CallID || loose.Session != req.Session {
			t.Fatalf("encoding/json reads %+v, we read %+v", loose, req)
		}
	})
}
