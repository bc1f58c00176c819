package find

import (
	"strings"

	"github.com/hookpolicy/hookpolicy/internal/redact/lex"
	"github.com/hookpolicy/hookpolicy/internal/redact/names"
)

// lines takes out the secrets of files whose lines have a form of their own:
// .pgpass, keys of PuTTY, the settings of routers.
func (sc *scanner) lines() {
	s := sc.s
	for at := 0; at < len(s); {
		end := lex.LineEnd(s, at)
		line := strings.TrimRight(s[at:end], " \t\r")
		switch {
		case strings.HasPrefix(line, "Private-Lines:"):
			stop := lex.IndexFrom(s, end, "\nPrivate-") // its MAC
			sc.add(min(end+1, stop), stop, "putty")
			end = stop
		case strings.HasPrefix(line, "snmp-server community "):
			start := at + len("snmp-server community ")
			_, stop := nextWord(s[:end], start)
			sc.add(start, stop, "line")
		default:
			sc.pgpass(at, line)
		}
		at = end + 1
	}
}

// pgpass takes out the password of host:port:database:user:password.
func (sc *scanner) pgpass(at int, line string) {
	if len(line) > 512 || strings.Count(line, ":") < 4 || strings.ContainsAny(line, " \t/\"'{},=") {
		return
	}
	if strings.Trim(line, "0123456789abcdefABCDEF:.") == "" { // an address
		return
	}
	fields := strings.SplitN(line, ":", 5)
	if fields[1] != "*" && (fields[1] == "" || !isPort(fields[1]) || len(fields[1]) < 4) || fields[0] == "" || fields[2] == "" || fields[3] == "" {
		return
	}
	if !IsHarmless(fields[4], names.Secret) {
		sc.add(at+len(line)-len(fields[4]), at+len(line), "line")
	}
}
