package redact_test

import (
	"strings"
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/redact"
)

const ordinarySQL = `SELECT o.id, o.total, c.name FROM orders o JOIN customers c ON c.id = o.customer_id
	WHERE o.status = 'open' AND o.created_at > now() - interval '7 days' AND c.region IN ('eu', 'us') ORDER BY o.total DESC LIMIT 50;`

func ordinaryArgs(b *testing.B) map[string]any {
	b.Helper()
	return parse(b, []byte(`{"query":"quarterly revenue by region for the last three years, without refunds",
		"path":"/srv/reports/2026/q3/summary.md","limit":50,"options":{"format":"table","columns":["region","quarter","revenue"],"verbose":true},
		"filters":[{"field":"region","op":"in","value":["eu","us","apac"]},{"field":"year","op":"ge","value":2023}],
		"notes":"Please round to thousands, and mark quarters in which fewer than two regions were reported.","request":"550e8400-e29b-41d4-a716-446655440000"}`))
}

func BenchmarkArgsOrdinary(b *testing.B) {
	r, args := redact.New(nil), ordinaryArgs(b)
	b.ReportAllocs()
	for b.Loop() {
		r.Args(args)
	}
}

func BenchmarkArgsWithSecret(b *testing.B) {
	r, args := redact.New(nil), ordinaryArgs(b)
	args["password"] = "Zq8canary"
	b.ReportAllocs()
	for b.Loop() {
		r.Args(args)
	}
}

func BenchmarkTextSQL2KB(b *testing.B) {
	r := redact.New(nil)
	for name, s := range map[string]string{
		"plain":  strings.Repeat(ordinarySQL+"\n", 8),
		"secret": strings.Repeat(ordinarySQL+"\n", 8) + "ALTER ROLE app PASSWORD 'Zq8canary'",
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			b.ReportAllocs()
			for b.Loop() {
				r.Text(s)
			}
		})
	}
}

// hostile are texts that make a careless reader start over again and again.
var hostile = map[string]string{
	"password=":          "password=",
	"password= x":        "password= ",
	"commands":           "curl -u a ",
	"pipes":              "echo a | sudo ",
	"open commands":      "mysql -p$( \"",
	"manifests":          "kind: Secret\ndata:\n  a: b\n",
	"lists of manifests": "- kind: Secret\n  data: {\n",
	"rows of COPY":       "COPY t (password) FROM stdin;\n1\n",
	"base64":             "cGFzc3dvcmQ9eHh4eHh4eHh4 ",
	"base64 in one":      "cGFzc3dvcmQ9eHh4",
	"PuTTY":              "Private-Lines: 1\n\nPrivate-Hash\n",
	"inputs":             "<input type=password ",
	"lists of words":     "tokens:[a,",
	"pgpass":             "h:5432:d:u:p\n",
	"labels":             "abc1234 (password) ",
	"quotes":             `password="must `,
	"dollar quotes":      "password $a$ ",
	"dollar quotes set":  "set($a$",
	"PEM":                "-----BEGIN PRIVATE KEY ",
	"JWT":                "eyJ-",
	"long JWT":           "eyJabcdefghijk-",
	"URL":                "://",
	"URL with userinfo":  "://a:b",
	"URL with at":        "://a:b@",
	"sk":                 "sk-",
	"tokens":             "ghp_",
	"brackets":           `"password":[`,
	"braces":             `{"password":{`,
	"calls":              "password=a(",
	"escapes":            `\"password\":\"`,
	"more escapes":       `password=\`,
	"nested JSON":        `{\"a\":\"`,
	"insert":             "INSERT INTO t (token) VALUES ('a','b'),",
	"crypt":              "crypt(",
	"select quotes":      "select '' '",
	"comments":           "select '/*",
	"siblings":           `name=password value=`,
	"siblings, quoted":   `name="password" value="`,
	"XML":                "<password>",
	"XML attributes":     "<password a",
	"flags":              "--password ",
	"blanks":             "password:                                                  ",
	"block":              "password: |\n  ",
	"next line":          "password:\n  a\n ",
	"CSV":                "a,token\n",
	"connection":         ";password=must ",
	"commas":             "password=a,b,",
	"at":                 "@tcp(",
	"bearer":             "bearer ",
	"basic":              "basic YTpi",
	"apostrophes":        "token '",
	"typographic":        "token “",
	"percent":            "password%3D",
	"colons":             "1:2:token:",
	"discord":            "MTA-",
	"telegram":           "12345678:AA",
	"dots":               "token.a.",
	"non-ASCII":          "пароль: ",
	"brackets with mark": "password=[REDACTED]a ",
}

func BenchmarkHostile1MiB(b *testing.B) {
	r := redact.New(nil)
	for name, part := range hostile {
		s := strings.Repeat(part, 1<<20/len(part))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			for b.Loop() {
				r.Text(s)
			}
		})
	}
}

// What doubles in length must not take much more than twice the steps; a test
// of time would fail on a busy machine, so this one only has to end.
func TestHostileTextsComeToAnEnd(t *testing.T) {
	t.Parallel()
	r := redact.New(nil)
	for name, part := range hostile {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			once := r.Text(strings.Repeat(part, 1<<16/len(part)))
			if r.Text(once) != once {
				t.Error("redacting again changes it")
			}
		})
	}
}
