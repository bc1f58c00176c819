package redact_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookpolicy/hookpolicy/internal/redact"
	"github.com/hookpolicy/hookpolicy/internal/strictjson"
)

const canary = "Zq8canary"

// checkLaws holds one document of arguments to what is promised of any.
func checkLaws(t *testing.T, r *redact.Redactor, args map[string]any) map[string]any {
	t.Helper()
	before := strictjson.CloneObject(args)
	clean, removed := r.Args(args)
	if !cmp.Equal(before, args) {
		t.Fatal("the input was changed")
	}
	doc, err := strictjson.Append(nil, clean)
	if err != nil {
		t.Fatalf("the result cannot be written: %v", err)
	}
	if _, err := strictjson.Parse(doc); err != nil && len(doc) <= strictjson.MaxBytes {
		t.Fatalf("the result cannot be read: %v", err)
	}
	if again, more := r.Args(clean); !cmp.Equal(clean, again) || len(more) > 0 {
		t.Fatalf("redacting again changes it:\n%s\nafter %s", cmp.Diff(clean, again), doc)
	}
	if (len(removed) == 0) != cmp.Equal(args, clean) {
		t.Fatalf("%d removed, but equal is %v", len(removed), cmp.Equal(args, clean))
	}
	return clean
}

func FuzzArgs(f *testing.F) {
	for _, doc := range []string{
		`{"password":"x","a":["--token","y"],"b":{"name":"api_key","value":"z"}}`,
		`{"sql":"INSERT INTO t(a, token) VALUES ('x', 'y')","params":["a","b"]}`,
		`{"body":"{\"password\":\"x\"}","password=abc":1,"[REDACTED]":2}`,
		`{"columns":["a","token"],"rows":[["x","y"]],"kind":"Secret","data":{"x":"y"}}`,
		`{"url":"postgres://u:p/w@h/db?password=x&b=c#token=1","t":"Authorization: Bearer abc1234"}`,
		`{"csv":"name,token\na,b\nc,d","x":"<password>x</password>","y":"password: |\n  x\n"}`,
	} {
		f.Add([]byte(doc))
	}
	r := redact.New([]string{"customer_ssn"})
	f.Fuzz(func(t *testing.T, doc []byte) {
		v, err := strictjson.Parse(doc)
		args, ok := v.(map[string]any)
		if err != nil || !ok {
			t.Skip()
		}
		checkLaws(t, r, args)
	})
}

func FuzzText(f *testing.F) {
	f.Add("password=x;y", "z")
	f.Add("ALTER ROLE a PASSWORD 'x''y'; INSERT INTO t VALUES ('api_key', 'x')", "$a$")
	f.Add(`{"a":"{\"password\":\"x\"}"}`, `\"`)
	f.Add("-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----", "://a:b@c")
	r := redact.New(nil)
	f.Fuzz(func(t *testing.T, a, b string) {
		s := a + b
		once := r.Text(s)
		if twice := r.Text(once); twice != once {
			t.Fatalf("%q becomes %q, and then %q", s, once, twice)
		}
	})
}

// plain reports whether a text cannot end or excuse the value that it stands
// before.
func plain(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && !strings.ContainsRune("+/!.~^", r)
	})
}

func FuzzPlantedSecret(f *testing.F) {
	f.Add("host=db1 ", "", " dbname=app")
	f.Add("SELECT 1; -- ", "a/b", "'")
	f.Add("{\"a\":\"", "x.y", "\"}")
	r := redact.New(nil)
	f.Fuzz(func(t *testing.T, before, with, after string) {
		if !plain(with) || strings.Contains(before+after, canary) {
			t.Skip()
		}
		secret := canary + with
		for _, planted := range []string{
			before + " password=" + secret + " " + after,
			before + "\npassword: " + secret + "\n" + after,
			before + "\n-----BEGIN EC PRIVATE KEY-----\n" + secret + "\n-----END EC PRIVATE KEY-----\n" + after,
			before + "\n-----BEGIN PRIVATE KEY-----\n" + secret,
			before + " eyJhbGciOiJIUzI1NiJ9.eyJ" + canary + ".c2lnbmF0dXJl " + after,
			before + " ghp_" + canary + "0123456789abcdefghij " + after,
		} {
			if got := r.Text(planted); strings.Contains(got, canary) {
				t.Errorf("left in %q, of %q", got, planted)
			}
		}
	})
}

func TestLawsHoldForHostileValues(t *testing.T) {
	t.Parallel()
	for name, doc := range map[string]string{
		"a name that is a token":                   `{"ghp_0123456789abcdefghij0123456789abcdef":"x","n":1}`,
		"two names that become the same":           `{"ghp_0123456789abcdefghij0123456789abcdef":1,"ghp_0123456789abcdefghij0123456789abcdee":2,"[REDACTED]":3}`,
		"a name that holds a pair":                 `{"password=Zq8canary":"x"}`,
		"a name with signs of pointers":            `{"a/b~c":{"password":"x"}}`,
		"a mark where a secret was":                `{"password":"[REDACTED]","t":"password=[REDACTED] x"}`,
		"a mark with something after":              `{"t":"password=[REDACTED]Zq8canary x"}`,
		"JSON in JSON in JSON":                     `{"a":"{\"b\":\"{\\\"password\\\":\\\"Zq8canary\\\"}\"}"}`,
		"a secret as an array of objects":          `{"tokens":[{"a":"Zq8canary"}]}`,
		"numbers and switches":                     `{"password":1,"token":false,"secret":null,"pin":1234}`,
		"invalid syntax of everything at once":     `{"t":"password='\"$x$ {[( <password> -----BEGIN PRIVATE KEY----- Zq8canary"}`,
		"a statement in a statement":               `{"sql":"DO $$ BEGIN EXECUTE 'ALTER ROLE a PASSWORD ''Zq8canary'''; END $$"}`,
		"a secret in the name of a deeper object":  `{"a":{"b":{"api_key=Zq8canary":{"c":1}}}}`,
		"full-width letters and invisible letters": `{"ｐａｓｓｗｏｒｄ":"Zq8canary","pass\u200bphrase":"Zq8canary"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clean := checkLaws(t, redact.New(nil), parse(t, []byte(doc)))
			if got := write(t, clean); strings.Contains(got, canary) {
				t.Errorf("the secret is left in %s", got)
			}
		})
	}
}
