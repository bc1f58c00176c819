package server_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/server"
)

func logTo(w *bytes.Buffer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

func writeFile(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

const (
	token1 = "0123456789abcdef"
	token2 = "fedcba9876543210"
)

func TestACallerIsKnownByExactlyOneToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	writeFile(t, path, "# agents\n\n"+token1+",customer-a,etl-agent\n "+token2+" , customer-b , report.agent \n")
	tokens, err := server.NewTokenFile(path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		header http.Header
		want   string
	}{
		"its own":                    {http.Header{"Authorization": {"Bearer " + token1}}, "customer-a/etl-agent"},
		"another's":                  {http.Header{"Authorization": {"Bearer " + token2}}, "customer-b/report.agent"},
		"the scheme in another case": {http.Header{"Authorization": {"bEARER  " + token1}}, "customer-a/etl-agent"},
		"none":                       {nil, ""},
		"an unknown one":             {http.Header{"Authorization": {"Bearer 0123456789abcdeX"}}, ""},
		"the beginning of one":       {http.Header{"Authorization": {"Bearer 0123456789abcde"}}, ""},
		"an empty one":               {http.Header{"Authorization": {"Bearer "}}, ""},
		"one under another scheme":   {http.Header{"Authorization": {"Basic " + token1}}, ""},
		"one without a scheme":       {http.Header{"Authorization": {token1}}, ""},
		"two headers":                {http.Header{"Authorization": {"Bearer " + token1, "Bearer " + token2}}, ""},
		"one that is a comment":      {http.Header{"Authorization": {"Bearer # agents"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fakeEngine{}
			srv := start(t, f, func(c *server.Config) { c.Authenticator = tokens })
			resp, doc := srv.do(t, http.MethodPost, "/v1/decide", question, tc.header)
			if tc.want == "" {
				wantDeny(t, f, 401, doc, resp.StatusCode, "caller.unauthenticated", "")
				if resp.Header.Get("WWW-Authenticate") != "Bearer" || len(f.requests) != 0 {
					t.Errorf("headers %v, %d requests", resp.Header, len(f.requests))
				}
				return
			}
			if resp.StatusCode != 200 || f.callers[0].String() != tc.want {
				t.Errorf("answer %d %s, callers %v", resp.StatusCode, doc, f.callers)
			}
		})
	}
}

func TestAWrongTokenFileIsRefusedWithItsLineAndWithoutItsTokens(t *testing.T) {
	for name, content := range map[string]string{
		"two fields":             token1 + ",customer-a\n",
		"four fields":            token1 + ",customer-a,etl,x\n",
		"a short token":          "0123456789abcde,customer-a,etl\n",
		"a token with a space":   "0123456789 abcdef,customer-a,etl\n",
		"no namespace":           token1 + ",,etl\n",
		"a namespace in capital": token1 + ",Customer,etl\n",
		"a namespace with dots":  token1 + ",a.b,etl\n",
		"a name that is no name": token1 + ",customer-a,-etl\n",
		"the same token twice":   token1 + ",customer-a,etl\n" + token1 + ",customer-b,etl\n",
		"bytes that are no text": "0123456789abcdef\xff,customer-a,etl\n",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "tokens")
			writeFile(t, path, "\n"+content)
			_, err := server.NewTokenFile(path, slog.New(slog.DiscardHandler))
			if err == nil || !strings.Contains(err.Error(), "line ") || strings.Contains(err.Error(), "0123456") {
				t.Errorf("error %v", err)
			}
		})
	}
	if _, err := server.NewTokenFile(filepath.Join(t.TempDir(), "none"), slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a missing file was taken")
	}
}

func TestAChangedTokenFileIsTakenOverAndABadOneIsNot(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "tokens")
	writeFile(t, path, token1+",customer-a,etl-agent\n")
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		tokens, err := server.NewTokenFile(path, logTo(&log))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go tokens.Watch(ctx)
		knows := func(token string) bool {
			time.Sleep(2 * time.Second) // of the bubble: lets the watch run
			synctest.Wait()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+token)
			_, err = tokens.Authenticate(r)
			return err == nil
		}
		if !knows(token1) || knows(token2) {
			t.Fatal("first file is not in force")
		}
		writeFile(t, path, token2+",customer-b,etl-agent\n")
		if knows(token1) || !knows(token2) {
			t.Error("changed file is not in force")
		}
		writeFile(t, path, token1+",customer-a,etl-agent\nhalf a li")
		if knows(token1) || !knows(token2) {
			t.Error("bad file changed something")
		}
		if n := strings.Count(log.String(), "Keeps the last good file"); n != 1 {
			t.Errorf("said so %d times:\n%s", n, &log)
		}
		writeFile(t, path, "# everyone is out\n")
		if knows(token1) || knows(token2) {
			t.Error("file without callers lets callers in")
		}
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
		writeFile(t, path, token1+",customer-a,etl-agent\n")
		if !knows(token1) || !strings.Contains(log.String(), "can be read by others") {
			t.Errorf("no warning of an open file:\n%s", &log)
		}
		if strings.Contains(log.String(), token1) || strings.Contains(log.String(), token2) {
			t.Errorf("log holds a token:\n%s", &log)
		}
	})
}

func TestWithoutATokenFileOnlyThisMachineIsServed(t *testing.T) {
	s, err := server.New(server.Config{Engine: &fakeEngine{}, Authenticator: server.Loopback{Caller: etl}})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(t.Context(), ln); err == nil || !strings.Contains(err.Error(), "token file") {
		t.Errorf("error %v", err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	for peer, want := range map[string]bool{
		"127.0.0.1:1": true, "[::1]:1": true, "[::ffff:127.0.0.1]:1": true,
		"10.0.0.1:1": false, "": false, "@": false,
	} {
		r.RemoteAddr = peer
		if caller, err := (server.Loopback{Caller: etl}).Authenticate(r); (err == nil) != want || (err != nil && caller != chain.Caller{}) {
			t.Errorf("peer %q: caller %v, error %v", peer, caller, err)
		}
	}
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST:8080": true, "127.0.0.1": true, "127.9.9.9:80": true, "[::1]:80": true, "[::1]": true,
		"": false, "evil.example": false, "localhost.evil.example": false, "127.0.0.1.evil.example:80": false, "0.0.0.0:80": false, "10.0.0.1": false,
	} {
		if err := (server.Loopback{}).CheckHost(host); (err == nil) != want {
			t.Errorf("host %q: %v", host, err)
		}
	}
}

// brokenIdentity cannot tell who calls.
type brokenIdentity struct{}

func (brokenIdentity) Authenticate(*http.Request) (chain.Caller, error) {
	return etl, context.DeadlineExceeded
}

func TestWhoCannotBeAuthenticatedNowIsDenied(t *testing.T) {
	f := &fakeEngine{}
	srv := start(t, f, func(c *server.Config) { c.Authenticator = brokenIdentity{} })
	resp, doc := srv.do(t, http.MethodPost, "/v1/decide", question, nil)
	wantDeny(t, f, 503, doc, resp.StatusCode, "caller.unavailable", "")
	if len(f.requests) != 0 {
		t.Error("the engine was asked")
	}
}
