package cmdline_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hookpolicy/hookpolicy/internal/redact/cmdline"
)

// secretsOf reads a line whose words have single blanks between them.
func secretsOf(line string) []string {
	var l cmdline.Line
	var secrets []string
	for word := range strings.SplitSeq(line, " ") {
		if part, ok := l.Next(word); ok {
			secrets = append(secrets, word[part.Start:part.End])
		}
	}
	return secrets
}

func TestTheSecretsOfALineAreFound(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"curl -u bob:x h":          "x",
		"curl -sSu bob:x h":        "x",
		"curl -ubob:x h":           "x",
		`curl -u "bob:x" h`:        "x",
		"curl --user=bob:x h":      "x",
		"curl -u bob h":            "",
		"curl -b sid=x h":          "x",
		"/usr/bin/mysql -px":       "x",
		"mysql -p app":             "",
		"mysql -uroot -p'x' app":   "x",
		"sudo -u bob mysql -px":    "x",
		`C:\bin\curl.exe -u a:x`:   "x",
		"sshpass -px ssh h":        "x",
		"sshpass -p x ssh h":       "x",
		"sshpass -p -v ssh h":      "",
		"docker login -u bob -p x": "x",
		"docker run -p 80:80 x":    "",
		"kubectl create secret generic n --from-literal=a=x --from-literal b=y": "x y",
		"kubectl create configmap n --from-literal=a=b":                         "",
		"openssl enc -k x -in y":                                                "x",
		"openssl enc -kfile y":                                                  "",
		"openssl enc -pass env:Y":                                               "",
		"openssl enc -pass pass:x":                                              "x",
		"htpasswd -b f bob x":                                                   "x",
		"htpasswd -nb bob x":                                                    "x",
		"htpasswd f bob x":                                                      "",
		"sqlplus bob/x@db":                                                      "x",
		"sqlplus / as sysdba":                                                   "",
		"vault login x":                                                         "x",
		"smbclient //h/s -U bob%x":                                              "x",
		"fly secrets set A=x B=y":                                               "x y",
		"echo mysql -px":                                                        "",
		"ls -p x":                                                               "",
	} {
		if got := strings.Join(secretsOf(line), " "); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

func TestWhatAProgramReadsIsJudgedByIt(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"chpasswd": "x", "docker login --password-stdin": "a:x", "sudo -S ls": "a:x", "sudo ls": "", "passwd --stdin": "a:x",
	} {
		var l cmdline.Line
		for word := range strings.SplitSeq(line, " ") {
			l.Next(word)
		}
		got := ""
		if part, ok := l.Input("a:x"); ok {
			got = "a:x"[part.Start:part.End]
		}
		if got != want {
			t.Errorf("%s reads %q, want %q", line, got, want)
		}
	}
}

func TestEveryProgramIsKnownByItsName(t *testing.T) {
	t.Parallel()
	names := cmdline.Names()
	for _, name := range names {
		if !cmdline.Known(name) || !cmdline.Known("/usr/bin/"+name) || !cmdline.Known(strings.ToUpper(name)+".EXE") {
			t.Errorf("%s is not known", name)
		}
	}
	if !slices.Contains(names, "curl") || cmdline.Known("ls") {
		t.Error("the table is wrong")
	}
}

// A part of a word lies within it, whatever the words are.
func FuzzLine(f *testing.F) {
	f.Add("curl -u a:b c", "x")
	f.Add("htpasswd -nb 'a' \\\"b", "\"")
	f.Add("openssl -pass pass: -k", "'")
	f.Fuzz(func(t *testing.T, line, input string) {
		var l cmdline.Line
		for word := range strings.SplitSeq(line, " ") {
			if part, ok := l.Next(word); ok && (part.Start < 0 || part.Start >= part.End || part.End > len(word)) {
				t.Fatalf("%v of %q", part, word)
			}
		}
		if part, ok := l.Input(input); ok && (part.Start < 0 || part.Start >= part.End || part.End > len(input)) {
			t.Fatalf("%v of %q", part, input)
		}
	})
}
