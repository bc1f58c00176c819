package redact_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookpolicy/hookpolicy/internal/redact"
)

func TestNamesOfSecrets(t *testing.T) {
	t.Parallel()
	r := redact.New(nil)
	for name := range strings.FieldsSeq(`api_key apikey apiKey APIKey X-Api-Key api.key passwords PGPASSWORD userPassword password2 DB_PASSWORD_DEV pass-word
		pAsSwOrD passwd pwd passphrase pass token access_token refreshToken idToken AUTH_TOKEN sessionToken HF_TOKEN bot_token secret clientsecret
		SECRET_KEY_BASE authorization Proxy-Authorization bearer cookie Set-Cookie private_key ssh_private_key accessKeyId secret_access_key
		credentials connectionString dsn otp totp_code pin recoveryCode license_key encryption_key webhook_secret PHPSESSID jwt
		contraseña mot_de_passe пароль 密码 ｔｏｋｅｎ pаssword password_hash new_password` + " to\u200bken") {
		if _, removed := r.Args(map[string]any{name: canary}); len(removed) != 1 || removed[0].How != "key" || removed[0].Original != canary {
			t.Errorf("%s is not known for the name of a secret: %v", name, removed)
		}
		if _, removed := r.Args(map[string]any{strings.ReplaceAll(name, "_", " "): canary}); len(removed) != 1 {
			t.Errorf("%s with spaces is not known for the name of a secret", name)
		}
	}
}

func TestNamesThatLookLikeThoseOfSecrets(t *testing.T) {
	t.Parallel()
	r := redact.New(nil)
	for name := range strings.FieldsSeq(`max_tokens maxTokens token_count token_type tokenizer next_page_token continuationToken total_tokens stop_tokens
		tokenUrl password_policy password_changed_at passwordMinLength password_file secretary secretName secretKeyRef secret_version passenger compass
		passport bypass author authority auth_mode authUrl key keyboard keyword monkey primary_key foreign_key public_key sort_key idempotency_key
		key_id code zip_code error_code state cookie_policy pinned shipping spinner opinion credit description session_id expires_in id_type
		first_pass gpio_pin csrf_token connection design_token has_password`) {
		if clean, removed := r.Args(map[string]any{name: "plain"}); len(removed) != 0 || clean[name] != "plain" {
			t.Errorf("%s is taken for the name of a secret", name)
		}
	}
}

func TestExtraKeysInAnySpelling(t *testing.T) {
	t.Parallel()
	r := redact.New([]string{"customer_ssn", "Größe", "", "--"})
	for _, name := range []string{"customer_ssn", "customerSSN", "Customer-SSNs", "CUSTOMER.SSN", "customer ssn", "größe", "GRÖßE"} {
		if _, removed := r.Args(map[string]any{"a": []any{map[string]any{name: canary}}}); len(removed) != 1 {
			t.Errorf("%s is not redacted", name)
		}
	}
	if got := r.Text("customer_ssn=" + canary); strings.Contains(got, canary) {
		t.Errorf("the text keeps it: %s", got)
	}
	if _, removed := redact.New(nil).Args(map[string]any{"customer_ssn": "x"}); len(removed) != 0 {
		t.Error("an extra key of one Redactor is one of another's")
	}
}

func TestStructures(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ args, want string }{
		"a secret may be an object":                       {`{"credentials":{"user":"a","x":["b"]}}`, `{"credentials":"[REDACTED]"}`},
		"a secret may be a number":                        {`{"password":12345}`, `{"password":"[REDACTED]"}`},
		"nothing is no secret":                            {`{"password":null,"secret":"","token":true}`, `{"password":null,"secret":"","token":true}`},
		"counts stay, lists of secrets do not":            {`{"tokens":12,"b":{"tokens":["x1y2z3"]}}`, `{"b":{"tokens":"[REDACTED]"},"tokens":12}`},
		"words of a language stay":                        {`{"tokens":["the","cat"]}`, `{"tokens":["the","cat"]}`},
		"a schema describes, it holds nothing":            {`{"properties":{"password":{"type":"string"}}}`, `{"properties":{"password":{"type":"string"}}}`},
		"a name beside its value":                         {`{"h":[{"name":"Authorization","value":"x"}]}`, `{"h":[{"name":"Authorization","value":"[REDACTED]"}]}`},
		"a list of two":                                   {`{"h":[["Authorization","Basic x"]]}`, `{"h":[["Authorization","[REDACTED]"]]}`},
		"a list of names":                                 {`{"f":["username","password","email"],"g":["password","email"]}`, `{"f":["username","password","email"],"g":["password","email"]}`},
		"a flag and its argument":                         {`{"argv":["tool","--password","x","y"]}`, `{"argv":["tool","--password","[REDACTED]","y"]}`},
		"user and password of curl":                       {`{"argv":["curl","-u","bob:x","h"]}`, `{"argv":["curl","-u","bob:[REDACTED]","h"]}`},
		"the attached password of mysql":                  {`{"argv":["/usr/bin/mysql","-px"]}`, `{"argv":["/usr/bin/mysql","-p[REDACTED]"]}`},
		"columns and rows":                                {`{"columns":["name","token"],"rows":[["a","x"],["b","y"]]}`, `{"columns":["name","token"],"rows":[["a","[REDACTED]"],["b","[REDACTED]"]]}`},
		"parameters of a statement":                       {`{"sql":"UPDATE u SET a=$1, password=$2","params":["a","x"]}`, `{"params":["a","[REDACTED]"],"sql":"UPDATE u SET a=$1, password=$2"}`},
		"question marks of a statement":                   {`{"sql":"INSERT INTO u (a, token) VALUES (?, ?)","args":["a","x"]}`, `{"args":["a","[REDACTED]"],"sql":"INSERT INTO u (a, token) VALUES (?, ?)"}`},
		"the data of a Kubernetes Secret":                 {`{"kind":"Secret","metadata":{"name":"db"},"data":{"x":"eA=="}}`, `{"data":"[REDACTED]","kind":"Secret","metadata":{"name":"db"}}`},
		"the secret beside an AWS access key":             {`{"id":"AKIAIOSFODNN7EXAMPLE","s":"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}`, `{"id":"[REDACTED]","s":"[REDACTED]"}`},
		"a name that is a secret itself":                  {`{"ghp_0123456789abcdef0123":1}`, `{"[REDACTED]":1}`},
		"two names that are secrets":                      {`{"ghp_0123456789abcdef0123":1,"ghp_0123456789abcdef0124":2}`, `{"[REDACTED]":1,"[REDACTED]-2":2}`},
		"JSON within a string, its value before its name": {`{"b":"{\"value\":\"x\",\"name\":\"api_key\"}"}`, `{"b":"{\"name\":\"api_key\",\"value\":\"[REDACTED]\"}"}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clean := checkLaws(t, redact.New(nil), parse(t, []byte(tt.args)))
			if diff := cmp.Diff(tt.want, write(t, clean)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRemovedSaysWhatWasWhere(t *testing.T) {
	t.Parallel()
	args := parse(t, []byte(`{"a/b~c":[{"password":{"x":1}}],"sql":"ALTER ROLE a PASSWORD 'one'","t":"token=two2 secret=three3"}`))
	_, removed := redact.New(nil).Args(args)
	want := []redact.Removed{
		{Pointer: "/a~1b~0c/0/password", How: "key", Original: args["a/b~c"].([]any)[0].(map[string]any)["password"]},
		{Pointer: "/sql", How: "shape:pair", Original: "one"},
		{Pointer: "/t", How: "shape:pair", Original: "two2"},
		{Pointer: "/t", How: "shape:pair", Original: "three3"},
	}
	if diff := cmp.Diff(want, removed); diff != "" {
		t.Error(diff)
	}
}

func TestNothingToRemoveCostsNothing(t *testing.T) {
	args := parse(t, []byte(`{"query":"revenue by region","limit":50,"options":{"columns":["region"],"verbose":true}}`))
	r := redact.New(nil)
	if n := testing.AllocsPerRun(100, func() { r.Args(args) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestTextNestedTooDeepIsRemovedWhole(t *testing.T) {
	t.Parallel()
	text := `{"value":"` + canary + `","name":"password"}`
	for range 10 {
		text = `{"a":` + write(t, text) + `}`
	}
	if got := redact.New(nil).Text(text); strings.Contains(got, canary) {
		t.Errorf("left in %d bytes", len(got))
	}
}

func TestRedactorMayBeSharedAndZero(t *testing.T) {
	t.Parallel()
	var zero redact.Redactor
	if got := zero.Text("password=x1"); got != "password="+redact.Mark {
		t.Errorf("the zero value redacts nothing: %s", got)
	}
	names := []string{"a", "b"}
	r := redact.New(names)
	slices.Reverse(names)
	names[0] = "c"
	if _, removed := r.Args(map[string]any{"b": canary, "c": "x"}); len(removed) != 1 {
		t.Error("a Redactor changes with the slice that it was made of")
	}
}
