package redact_test

import (
	"strings"
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/redact"
)

// Every text of secretTexts holds the canary where a secret is; it must go,
// and what else the text says must stay: the parts in ‹ ›.
var secretTexts = map[string][]string{
	"the password of a URL": {
		"‹postgres://›alice:Zq8canary‹@db1/app›", "‹postgres://›u:p@ss/Zq8canary‹@db1/app›", "‹postgres://›u:Zq8?canary‹@h/d›",
		"‹redis://›default:Zq8canary#x‹@cache:6379›", "‹mysql://›root:Zq8:canary‹@h/d›", "‹amqp://guest:›Zq8canary‹@mq:5672/%2f›",
		"‹mongodb+srv://bob:›Zq8canary‹@c0.example.net/db?retryWrites=true›", "https://Zq8canaryabcdefgh1234‹@github.com/x/y›",
		"‹user:›Zq8canary‹@tcp(127.0.0.1:3306)/db›", "‹jdbc:oracle:thin:scott/›Zq8canary‹@//h:1521/x›",
	},
	"a parameter of a URL": {
		"‹https://h/x?›token=Zq8canary‹#frag›", "‹https://h/x?›api_key=Zq8canary‹&b=1›", "‹jdbc:postgresql://h/db?user=a›&password=Zq8canary",
		"‹https://x.blob.core.windows.net/c?sv=2020›&sig=Zq8canary%3D‹&se=2026›", "‹https://h/cb?›code=Zq8canaryabcdef12‹&state=x›",
		"‹user=alice›&password=Zq8canary‹&x=1›", "password%3DZq8canary‹%26x›", "‹https://hooks.slack.com/services/›T00/B00/Zq8canary",
	},
	"a connection string": {
		"‹Server=db1;Database=app;›Password=my Zq8canary x‹;Encrypt=true›", "‹Server=db1;›Pwd=Zq8canary;",
		`‹Data Source=x;›Password="Zq8;canary";`, "‹UID=a;›PWD={Zq8;canary};", "‹host='h'› password='it\\'s Zq8canary' ‹x=1›",
		"‹AccountName=x;›AccountKey=Zq8canary==;‹EndpointSuffix=core.windows.net›", "SharedAccessKey=Zq8canary=",
	},
	"a name and a value": {
		"DB_PASS=Zq8canary", "password1=Zq8canary", "export GITHUB_TOKEN=Zq8canary‹; make›", "Password => 'Zq8canary'", "passwd : Zq8canary",
		"token := \"Zq8canary\"", "const apiKey = 'Zq8canary';", `os.environ["API_KEY"] = "Zq8canary"`, "PGPASSWORD='Zq8 canary' ‹psql -h x›",
		"{‹User:bob› Password:Zq8canary}", "map[password:Zq8canary ‹user:bob›]", "(password=Zq8canary)", "password=Zq8canary,‹user=bob›",
		"password=Zq8,canary", "password=ab'Zq8canary", "API key: Zq8canary", `password: str = "Zq8canary"`,
		"password：\"Zq8canary\"", "ｐａｓｓｗｏｒｄ＝Zq8canary", "密码：Zq8canary", `\npassword=Zq8canary\n‹x=1›`,
	},
	"a file of settings": {
		"‹[db]\n›password = Zq8canary\n‹port = 1›", "password:\n  Zq8canary", "‹db:›\n  password: |\n    Zq8canary\n    more\n  ‹port: 1›",
		"- ‹name: DB_PASSWORD›\n  value: Zq8canary", "passwords: [Zq8canary, b]", "password:\n- Zq8canary", "token: >-\n  Zq8canary",
		"‹name,›token\n‹ci,›Zq8canary\n‹cd,›Zq8b", "‹machine h login bob› password Zq8canary",
	},
	"JSON and XML within a text": {
		`{"password": "Zq8canary"‹, "port": 5432}›`, `{\"password\": \"Zq8canary\"‹, \"port\": 5432}›`, `{\\\"password\\\": \\\"Zq8canary\\\"}`,
		"{'password': 'Zq8canary'‹, 'port': 5432}›", `{"name":"Authorization","value":"Bearer Zq8canary"}`, `{"value":"Zq8canary","name":"api_key"}`,
		`{"p\u0061ssword":"Zq8canary"}`, "<db:password type=\"x\">Zq8canary{</db:password>}", `<add key="Password" value="Zq8canary"/>`,
		`<string name="api_key">Zq8canary</string>`, "<Password><![CDATA[Zq8canary]]></Password>", "&lt;password&gt;Zq8canary‹&lt;/password&gt;›",
		"name=\"password\"\n\nZq8canary\n‹--x›",
	},
	"a header": {
		"‹Authorization: Bearer› Zq8canary", "‹Authorization: ›Zq8canary", "authorization=Bearer Zq8canary", `‹curl› -H "X-Api-Key: Zq8canary" ‹https://h›`,
		"Cookie: a=Zq8b; session=Zq8canary", "Set-Cookie: sid=Zq8canary; Path=/", "Bearer Zq8canary.abc-def_ghi",
		`headers.set("X-Api-Key", "Zq8canary")`, "authorization: AWS4-HMAC-SHA256 Credential=x, Signature=Zq8canary",
	},
	"a command line": {
		"‹tool› --password Zq8canary ‹--verbose›", "‹tool› --api-key=Zq8canary ‹--verbose›", "‹mysql -u root› -pZq8canary ‹app›",
		"‹curl -u bob:›Zq8canary ‹https://h›", "‹curl› -ubob:Zq8canary ‹x›", "‹sshpass› -p Zq8canary ‹ssh host›", "‹redis-cli› -a Zq8canary ‹ping›",
		"‹docker login -u bob› -p Zq8canary ‹reg.example›", "‹openssl enc› -pass pass:Zq8canary", "‹kubectl create› --from-literal=password=Zq8canary",
		"‹aws configure set aws_secret_access_key› Zq8canary",
	},
	"a sentence": {
		"my password is Zq8canary1", "set the password to Zq8canary1 ‹please›", `the password is "Zq8canary"`, "with password Zq8canary1",
		"Passwort ist Zq8canary1",
	},
	"the password of a role in SQL": {
		"‹ALTER ROLE app› PASSWORD 'Zq8canary'", "‹ALTER ROLE app› PASSWORD'Zq8canary'", "‹ALTER ROLE app› PASSWORD $$Zq8canary$$ ‹LOGIN›",
		"‹ALTER ROLE app› PASSWORD $x$Zq8canary$x$", "ALTER ROLE app PASSWORD /* c */ 'Zq8canary'", "ALTER ROLE app PASSWORD\n 'Zq8canary'",
		`ALTER ROLE app PASSWORD U&'\005AZq8canary' UESCAPE '!'`, "CREATE ROLE bob PASSWORD 'it''s Zq8canary'", "CREATE ROLE bob PASSWORD 'a' || 'Zq8canary'",
		"CREATE USER bob IDENTIFIED WITH mysql_native_password BY 'Zq8canary'", "CREATE LOGIN bob WITH PASSWORD = N'Zq8canary'",
		"SET PASSWORD FOR ‹'bob'›@‹'%'› = 'Zq8canary'", "‹CREATE USER MAPPING FOR bob SERVER s OPTIONS› (SET password 'Zq8canary')",
		"‹CREATE SUBSCRIPTION s CONNECTION 'host=h› password=Zq8canary ‹dbname=x'›", "‹EXECUTE 'EXECUTE ''ALTER ROLE› a PASSWORD ''''Zq8canary'''''''",
		"EXECUTE format('‹ALTER ROLE %I PASSWORD %L›', '‹bob›', 'Zq8canary')", "ALTER SYSTEM SET x.password TO 'Zq8canary'",
	},
	"a secret column in SQL": {
		"‹UPDATE users SET name = 'x'›, password = 'Zq8canary' ‹WHERE id = 1›", "UPDATE users SET (‹name›, password) = (‹'x'›, 'Zq8canary')",
		"INSERT INTO users (‹name›, password) VALUES (‹'x'›, 'a'), (‹'y'›, 'Zq8canary')", "INSERT INTO users (‹name›, password) SELECT ‹'x'›, 'Zq8canary'",
		"INSERT INTO users (name, api_key) VALUES (concat('a', ','), upper('Zq8canary'))", "INSERT INTO settings VALUES (1, ‹'stripe_secret_key'›, 'Zq8canary')",
		"‹SELECT * FROM t WHERE› token IN ('Zq8canary', 'Zq8b')", "SELECT * FROM t WHERE 'Zq8canary' = token", "SELECT * FROM t WHERE token LIKE 'Zq8canary%'",
		"SELECT * FROM t WHERE data->>'password' = 'Zq8canary'", "SELECT * FROM t WHERE lower(token) = lower('Zq8canary')",
		"SELECT * FROM t WHERE token = ANY(ARRAY['a','Zq8canary'])", "SELECT * FROM t WHERE token BETWEEN 'a' AND 'Zq8canary'",
		"UPDATE settings SET value = 'Zq8canary' WHERE ‹name = 'stripe_secret_key'›", "SELECT 'Zq8canary' AS password",
	},
	"a secret argument in SQL": {
		"INSERT INTO u (id, password) VALUES (1, $$Zq8canary$$), (2, $x$Zq8canary$x$)", "SELECT crypt($$Zq8canary$$, gen_salt(‹'bf'›))",
		"SELECT jsonb_build_object(‹'user', 'bob'›, 'password', $$Zq8canary$$)",
		"SELECT crypt('Zq8canary', gen_salt(‹'bf'›))", "SELECT pgp_sym_decrypt(dearmor(‹'x'›), 'Zq8canary')", "SELECT hmac(‹'data'›, 'Zq8canary', ‹'sha256'›)",
		"SELECT encrypt('data'::bytea, 'Zq8canary'::bytea, ‹'aes'›)", "SELECT jsonb_build_object(‹'user', 'bob'›, 'password', 'Zq8canary')",
		"SELECT set_config(‹'app.secret'›, 'Zq8canary', true)", "CREATE SECRET s (‹TYPE S3›, SECRET 'Zq8canary')",
	},
	"a private key": {
		"‹a ›-----BEGIN RSA PRIVATE KEY-----\nZq8canary\n-----END RSA PRIVATE KEY-----‹ b›", "-----BEGIN RSA PRIVATE KEY-----\nZq8canary",
		`-----BEGIN OPENSSH PRIVATE KEY-----\nZq8canary BACKEND x\n-----END OPENSSH PRIVATE KEY-----`, "-----BEGIN PGP PRIVATE KEY BLOCK-----\nZq8canary",
	},
	"a token": {
		"‹use ›ghp_Zq8canaryxxxxxxxxxxxxxxxxxxxxxxxxxxxx‹.›", "xoxb-Zq8canary-1234567890", "‹token ›glpat-Zq8canaryabcdefghijk‹ here›", "AIzaSyZq8canaryxxxxxxxxxxxxxxxxxxxxxx9",
		"sk-proj-Zq8canary-abc_defghijklmnop", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.Zq8canary-sig", "123456789:AAZq8canaryefghijklmnopqrstuvwxyz12",
		"MTAxMDEwMTAxMDEwMTAxMDEw.GZq8xx.Zq8canaryijklmnopqrstuvwxyz0123456789", `‹line›\nghp_Zq8canaryxxxxxxxxxxxxxxxxxxxxxxxxxxxx`,
		"AKIAIOSFODNN7EXAMPLE wJalrXUtnFEMI/K7MDENG/bPxRfZq8canary1A2B",
	},
}

func TestSecretsInTextsAreRemoved(t *testing.T) {
	t.Parallel()
	r := redact.New(nil)
	for name, texts := range secretTexts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, text := range texts {
				in, stays := marked(text)
				got := r.Text(in)
				if strings.Contains(got, "Zq8") || strings.Contains(got, "canary") || !strings.Contains(got, redact.Mark) {
					t.Errorf("the secret is left: %q becomes %q", in, got)
				}
				for _, s := range stays {
					if !strings.Contains(got, s) {
						t.Errorf("%q is gone: %q becomes %q", s, in, got)
					}
				}
				if again := r.Text(got); again != got {
					t.Errorf("%q becomes %q when it is redacted again", got, again)
				}
			}
		})
	}
}

// marked takes the ‹ › off the parts of a text that must stay.
func marked(text string) (in string, stays []string) {
	var out strings.Builder
	for text != "" {
		before, rest, _ := strings.Cut(text, "‹")
		part, after, _ := strings.Cut(rest, "›")
		out.WriteString(before)
		out.WriteString(part)
		stays = append(stays, part)
		text = after
	}
	return out.String(), stays
}

// harmlessTexts talk about secrets, or look like them, and hold none.
var harmlessTexts = map[string][]string{
	"SQL": {
		"SELECT id, name FROM users WHERE status = 'active' ORDER BY created_at", "SELECT password FROM users WHERE name = 'bob'",
		"SELECT count(token) FROM api_tokens WHERE kind = 'ci'", "INSERT INTO users (name, email) VALUES ('bob', 'bob@x.example')",
		"COMMENT ON COLUMN users.password IS 'bcrypt hash'", "CREATE TABLE users (id int, password text NOT NULL, name text DEFAULT 'x')",
		"SELECT * FROM information_schema.columns WHERE column_name = 'password'", "SELECT * FROM tokens WHERE token_type = 'bearer'",
		"UPDATE users SET password = $1 WHERE id = 2", "UPDATE users SET password = :password WHERE id = 2", "SET SESSION AUTHORIZATION 'bob'",
		"DELETE FROM password_resets WHERE created_at < now() - interval '1 day'", "SELECT crypt(password, gen_salt('bf')) FROM users",
		"SELECT * FROM t WHERE key = 'abc' AND code = 'E404'", "INSERT INTO tokens_log (count, kind) VALUES (17, 'ci')",
		"GRANT SELECT ON secrets TO bob", "SELECT 'it''s fine' AS note FROM t", "UPDATE t SET password = ''",
	},
	"code": {
		"func getToken(ctx context.Context) (string, error) { return t.token, nil }", `password = os.environ["DB_PASSWORD"]`,
		"const token = await getToken();", "token: string; password: string;", `if (password == null) throw new Error("password is required");`,
		"const { password, token } = req.body;", "def f(token: str, password: str | None = None) -> bool:", "Promise<Token> x; Array<Secret> y",
		"token.go:123: undefined: x", "expect(token.type).toBe('identifier')", "for _, token := range tokens {", "user.password = form.password",
	},
	"settings that point elsewhere": {
		"password: ${DB_PASSWORD}", "password: {{ .Values.password }}", "--password-file /run/secrets/x", "secretName: db", "password: <your-password>",
		"password: ****", "password:", "npm_config_cache=/tmp/x", "key: value, code: E404", "password_policy: min 12 chars", "auth_mode: oauth2",
	},
	"prose": {
		"the token expired, please log in again", "password must be at least 12 characters", "Password: must be at least 12 characters",
		"the secret to success is hard work", "use a bearer token for this", "The key is in the door; the code is clean",
		"syntax error: unexpected token '}' at line 3", "reset your password at https://h.example/reset", "API token parameter is required",
		"how do I rotate an API key and a password?", "the secretary kept the minutes; compass, passenger, bypass", "basic authentication is off",
		"tokens: 17; max_tokens=4096 token_count: 17; tokens per second: 40", "password reset requested", "author=Bob; authority=city",
	},
	"addresses": {
		"see https://h.example:8443/path/x@2.1/readme?page=2&sort=key#code", "git clone git@github.com:org/repo.git", "mail ops@corp.example",
		"docker pull repo/image:tag@sha256:9fceb02d0ae598e95dc970b74767f19372d61af89fceb02d0ae598e95dc970b7",
		"https://registry.example/@scope/pkg", "postgres://db1:5432,db2:5432/app", "https://user@h.example/x",
	},
	"digests and public keys": {
		"commit 9fceb02d0ae598e95dc970b74767f19372d61af8 fix the token parser", "550e8400-e29b-41d4-a716-446655440000",
		"-----BEGIN CERTIFICATE-----\nMIIabc\n-----END CERTIFICATE-----", "c3VtbWFyeSBvZiB0aGUgcmVwb3J0IGZvciBxMw==",
		"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ bob@host", "sk-learn is a library; ask-me-anything-about-something-nice",
	},
}

func TestHarmlessTextsStayReadable(t *testing.T) {
	t.Parallel()
	r := redact.New(nil)
	for name, texts := range harmlessTexts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, text := range texts {
				if got := r.Text(text); got != text {
					t.Errorf("%q becomes %q", text, got)
				}
			}
		})
	}
}
