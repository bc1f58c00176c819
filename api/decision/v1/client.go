package v1

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// DefaultTimeout bounds one request of a Client, on top of a wait for a person.
const DefaultTimeout = 10 * time.Second

// Bounds of what a Client reads.
const (
	maxAnswerBytes = 4 << 20
	maxFileBytes   = 1 << 20
)

// Options say how a Client reaches the decision service. The zero value uses
// no token, the system's certificates and DefaultTimeout.
type Options struct {
	// Token returns the bearer token of a request. It is called each time.
	Token func(ctx context.Context) (string, error)
	// TokenFile is read each time instead, so that a projected ServiceAccount
	// token may be rotated. Set one of the two at most.
	TokenFile string
	// CAFile holds the certificates that the service's own must come from, as
	// PEM. It is read again when it changes.
	CAFile string
	// TLS is the configuration to start from.
	TLS *tls.Config
	// HTTPClient sends the requests, without following redirects. CAFile and
	// TLS must be empty with it.
	HTTPClient *http.Client
	// Timeout bounds one request, on top of a wait for a person.
	Timeout time.Duration
	// AllowPlaintext lets the token travel over plain HTTP to another machine.
	AllowPlaintext bool
}

// A Client asks the decision service and fails closed: whatever goes wrong
// becomes a Deny. It is safe for concurrent use.
type Client struct {
	base    string
	token   func(ctx context.Context) (string, error)
	http    *http.Client
	timeout time.Duration
}

// New returns a client of the service at a URL such as
// https://hookpolicy.hookpolicy-system.svc.
func New(baseURL string, o Options) (*Client, error) {
	u, err := url.Parse(baseURL)
	if err != nil {
		return nil, errors.New("base URL of the decision service cannot be read")
	}
	if (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("base URL of the decision service must be http(s)://host[:port][/path]")
	}
	if o.Token != nil && o.TokenFile != "" {
		return nil, errors.New("a client takes a token function or a token file, not both")
	}
	hasToken := o.Token != nil || o.TokenFile != ""
	if u.Scheme == "http" && hasToken && !o.AllowPlaintext && !isLoopback(u.Hostname()) {
		return nil, errors.New("a token is not sent to another machine over plain HTTP")
	}
	hc, err := httpClient(o)
	if err != nil {
		return nil, err
	}
	c := &Client{
		base: strings.TrimSuffix(u.String(), "/"), token: o.Token, http: hc, timeout: cmp.Or(o.Timeout, DefaultTimeout),
	}
	if o.TokenFile != "" {
		c.token = func(context.Context) (string, error) { return readToken(o.TokenFile) }
	}
	return c, nil
}

func httpClient(o Options) (*http.Client, error) {
	hc := &http.Client{}
	if o.HTTPClient != nil {
		if o.CAFile != "" || o.TLS != nil {
			return nil, errors.New("a client takes an HTTP client or TLS settings, not both")
		}
		*hc = *o.HTTPClient
	} else {
		config := &tls.Config{MinVersion: tls.VersionTLS12}
		if o.TLS != nil {
			config = o.TLS.Clone()
		}
		hc.Transport = transport(config)
		if o.CAFile != "" {
			t, err := newTrust(o.CAFile, config)
			if err != nil {
				return nil, err
			}
			hc.Transport = t
		}
	}
	// A decision comes from the service that was asked, not from where it
	// points.
	hc.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return hc, nil
}

func readToken(path string) (string, error) {
	doc, err := readFile(path)
	if err != nil {
		return "", fmt.Errorf("read token file: %w", err)
	}
	token := strings.TrimSpace(string(doc))
	if token == "" {
		return "", errors.New("read token file: it is empty")
	}
	return token, nil
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFileBytes))
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
