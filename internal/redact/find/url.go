package find

import (
	"strings"

	"github.com/hookpolicy/hookpolicy/internal/redact/lex"
	"github.com/hookpolicy/hookpolicy/internal/redact/names"
)

// url takes the password out of the URL whose "://" is at i.
func (sc *scanner) url(i int) int {
	s := sc.s
	from := i + len("://")
	if from >= sc.urlEnd {
		sc.urlEnd = from
		for sc.urlEnd < len(s) && s[sc.urlEnd] > ' ' && strings.IndexByte("\"'`<>", s[sc.urlEnd]) < 0 {
			sc.urlEnd++
		}
		sc.urlAt = strings.LastIndexByte(s[from:sc.urlEnd], '@') + from
	}
	end := sc.urlEnd
	if sc.urlAt < from {
		return sc.secretPath(from, end)
	}
	web := strings.HasSuffix(s[:i], "http") || strings.HasSuffix(s[:i], "https")
	at := userinfoEnd(s[from:end], web)
	if at < 0 {
		return sc.secretPath(from, end)
	}
	user, password, ok := strings.Cut(s[from:from+at], ":")
	switch {
	case ok && !IsHarmless(password, names.Secret):
		sc.add(from+len(user)+1, from+at, "url")
	case !ok && IsRandom(user, 20):
		sc.add(from, from+at, "url")
	}
	return from + at
}

// userinfoEnd returns where the userinfo of what follows "://" ends, or -1. A
// password that should have been percent-encoded may hold any of "/?#@": what
// looks like a port but is no number is the beginning of a password.
func userinfoEnd(rest string, web bool) int {
	authority := rest
	if n := strings.IndexAny(rest, "/?#"); n >= 0 {
		authority = rest[:n]
	}
	at := strings.LastIndexByte(authority, '@')
	if at >= 0 {
		if path, _, _ := strings.Cut(rest, "?"); !web && strings.Contains(authority[:at], ":") {
			return strings.LastIndexByte(path, '@')
		}
		return at
	}
	colon := strings.IndexByte(authority, ':')
	if colon < 0 || isPort(authority[colon+1:]) {
		return -1
	}
	return strings.LastIndexByte(rest, '@')
}

// isPort reports whether a text is a port, or ports and hosts of a list.
func isPort(s string) bool {
	s, _, _ = strings.Cut(s, ",")
	for i := range len(s) {
		if !lex.IsDigit(s[i]) {
			return false
		}
	}
	return len(s) <= 5
}

// secretPath takes out the part of a webhook's path that is its secret.
func (sc *scanner) secretPath(from, end int) int {
	s := sc.s[from:end]
	for _, hook := range []struct{ host, path string }{
		{"hooks.slack.com", "/services/"}, {"hooks.slack.com", "/workflows/"}, {"hooks.slack.com", "/triggers/"},
		{"discord.com", "/api/webhooks/"}, {"discordapp.com", "/api/webhooks/"},
		{"webhook.office.com", "/webhookb2/"}, {"api.telegram.org", "/bot"}, {"hooks.zapier.com", "/hooks/catch/"},
		{"chat.googleapis.com", "/messages?"},
	} {
		host := strings.Index(s[:min(len(s), 100)], hook.host)
		if host < 0 {
			continue
		}
		if n := strings.Index(s[host:min(len(s), host+100)], hook.path); n >= 0 {
			sc.add(from+host+n+len(hook.path), end, "webhook")
			return end
		}
	}
	return from
}

// driverDSN takes the password out of user:password@tcp(host)/db, whose "@" is
// at i.
func (sc *scanner) driverDSN(i int) {
	s := sc.s
	if rest := s[i+1:]; !strings.HasPrefix(rest, "tcp(") && !strings.HasPrefix(rest, "unix(") && !strings.HasPrefix(rest, "(") && !strings.HasPrefix(rest, "//") {
		return
	}
	sep := byte(':')
	if strings.HasPrefix(s[i+1:], "//") { // jdbc:oracle:thin:scott/tiger@//host
		sep = '/'
	}
	start, colon := i, -1
	for start > 0 && i-start < 256 && s[start-1] > ' ' && !lex.IsQuote(s[start-1]) && s[start-1] != '=' {
		if start--; s[start] == sep {
			colon = start
		}
	}
	if colon >= 0 && !IsHarmless(s[colon+1:i], names.Secret) {
		sc.add(colon+1, i, "url")
	}
}
