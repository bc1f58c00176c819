package find

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/hookpolicy/hookpolicy/internal/redact/lex"
	"github.com/hookpolicy/hookpolicy/internal/redact/names"
)

// element takes out the text of an XML element whose name, from i to end,
// names a secret.
func (sc *scanner) element(i, end int) int {
	s := sc.s
	if i == 0 || end == len(s) {
		return 0
	}
	if s[i-1] == '<' && end-i == 5 && strings.EqualFold(s[i:end], "input") {
		return sc.input(i, end)
	}
	if strings.HasSuffix(s[:i], "&lt;") && strings.HasPrefix(s[end:], "&gt;") && sc.d.KindOf(s[i:end]) != names.Plain {
		start := end + len("&gt;")
		stop := lex.IndexFrom(s, start, "&")
		return sc.take(i, start, stop, stop, names.Secret)
	}
	if !opensTag(s, i) || s[end] != '>' && !lex.IsBlank(s[end]) {
		return 0
	}
	gt := strings.IndexByte(s[end:min(len(s), end+256)], '>')
	if gt < 0 || strings.IndexByte(s[end:end+gt], '<') >= 0 || sc.d.KindOf(s[i:end]) == names.Plain {
		return 0
	}
	start := end + gt + 1
	if strings.HasPrefix(s[start:], "<![CDATA[") {
		start += len("<![CDATA[")
		stop := lex.IndexFrom(s, start, "]]>")
		return sc.take(i, start, stop, stop, names.Secret)
	}
	stop := lex.IndexFrom(s, start, "<")
	if stop < len(s) && !strings.HasPrefix(s[stop:], "</") {
		return 0 // other elements are in it: they have names of their own
	}
	return sc.take(i, start, stop, stop, names.Secret)
}

// input takes out the value of a password field of HTML.
func (sc *scanner) input(i, end int) int {
	s := sc.s
	tag := s[end:min(len(s), end+1024)]
	if n := strings.IndexAny(tag, "<>"); n >= 0 {
		tag = tag[:n]
	}
	lower := strings.ToLower(tag)
	if !strings.Contains(strings.NewReplacer(`"`, "", "'", "", " ", "").Replace(lower), "type=password") {
		return 0
	}
	n := strings.Index(lower, "value=")
	if n < 0 || len(lower) != len(tag) {
		return 0
	}
	from := end + n + len("value=")
	start, stop, after, ok := lex.Literal(s, from)
	if !ok {
		start, stop = nextWord(s[:end+len(tag)], from)
		after = stop
	}
	return sc.take(i, start, stop, after, names.Secret)
}

// opensTag reports whether "<", and maybe a namespace, stands before i; in
// code, where a type parameter would, it does not.
func opensTag(s string, i int) bool {
	if s[i-1] == ':' {
		for i--; i > 0 && lex.Slug.Has(s[i-1]); i-- {
		}
	}
	return i > 0 && s[i-1] == '<' && (i == 1 || !lex.Word.Has(s[i-2]))
}

// spoken judges a word with no separator after it: flags of commands, schemes
// of HTTP authentication, names with a literal after a space, and sentences.
func (sc *scanner) spoken(i, end int) int {
	s := sc.s
	if i > 0 && s[i-1] == '-' {
		if next := sc.flag(i, end); next > 0 {
			return next
		}
	}
	p := sc.closed(i, end)
	if next := sc.labelled(i, p); next > 0 {
		return next
	}
	if p == len(s) || !lex.IsBlank(s[p]) && s[p] != '(' {
		return end
	}
	k := sc.kindAt(i, end)
	for _, scheme := range []string{"bearer", "basic"} {
		if strings.EqualFold(s[i:end], scheme) {
			return max(end, sc.scheme(scheme, end))
		}
	}
	if k == names.Plain || isHeaderOfCredentials(s[i:min(len(s), i+32)]) { // AUTHORIZATION is a role in SQL
		return max(end, sc.setter(i, end))
	}
	return max(end, sc.told(i, end, p, k))
}

// labelled takes out the word before a name in parentheses: "x (password)".
func (sc *scanner) labelled(i, end int) int {
	s := sc.s
	if i < 3 || s[i-1] != '(' || s[i-2] != ' ' || end == len(s) || s[end] != ')' || sc.d.KindOf(s[i:end]) == names.Plain {
		return 0
	}
	start := i - 2
	for start > 0 && i-start < 128 && !lex.IsSpace(s[start-1]) {
		start--
	}
	if word := s[start : i-2]; IsRandom(word, 6) && !IsHarmless(word, names.Secret) {
		sc.add(start, i-2, "pair")
		return end
	}
	return 0
}

// told takes out the literal after a name (PASSWORD '…'), the argument of a
// call (setPassword("…")), or what a sentence says the secret is.
func (sc *scanner) told(i, end, p int, k names.Kind) int {
	s := sc.s
	if s[p] == '(' {
		if start, stop, after, ok := lex.Literal(s, p+1); ok && sets(s[i:end]) {
			return sc.take(i, start, stop, after, k)
		}
		return 0
	}
	password := k == names.Secret && strings.Contains(strings.ToLower(s[i:end]), "pass")
	p = lex.SkipBlank(s, p)
	if p == len(s) || !password && s[p] >= utf8.RuneSelf {
		return 0
	}
	if password || lex.IsQuote(s[p]) || s[p] == '\\' {
		if start, stop, after, ok := lex.Literal(s, p); ok {
			capitals := k == names.Secret && lex.IsUpper(s[i]) && lex.IsUpper(s[end-1]) // a keyword of SQL
			if password || capitals || IsRandom(s[start:min(stop, start+maxHarmless)], 8) {
				return sc.take(i, start, stop, after, k)
			}
			return 0
		}
	}
	return sc.sentence(i, end, p, k, password)
}

// sentence takes out the word of a sentence, at p or after "is", that looks
// like the secret which was named before.
func (sc *scanner) sentence(i, end, p int, k names.Kind, password bool) int {
	s := sc.s
	least := 16 // characters, of something that looks made up
	if password || k == names.Secret && strings.IndexByte(s[i:end], '_') >= 0 {
		least = 6
	}
	sure := k == names.Secret && hasLogin(s, i)
	start, stop := nextWord(s, p)
	if isTypeOfRouter(s, start, stop) {
		if start, stop = nextWord(s, stop); k == names.Secret && IsRandom(s[start:stop], 6) {
			return sc.take(i, start, stop, stop, k)
		}
	}
	if link := s[start:min(stop, start+16)]; link != "IS" && linkWords[strings.ToLower(link)] {
		if start, stop, after, ok := lex.Literal(s, lex.SkipBlank(s, stop)); ok {
			return sc.take(i, start, stop, after, k)
		}
		least = 4
		if start, stop = nextWord(s, stop); start == stop && stop < len(s) { // "is:"
			start, stop = nextWord(s, skipSpace(s, stop+1))
		}
		sure = stop-start >= least && isNumber(s[start:stop])
	}
	if start < stop && (sure || stop-start > maxHarmless || IsRandom(s[start:stop], least)) {
		return sc.take(i, start, stop, stop, k)
	}
	return 0
}

// isTypeOfRouter reports whether a word is the digit by which a router says how
// it has written a secret: secret 5 ….
func isTypeOfRouter(s string, start, stop int) bool {
	return stop == start+1 && lex.IsDigit(s[start]) && stop < len(s) && s[stop] == ' '
}

// hasLogin reports whether "login name" stands before i: a .netrc.
func hasLogin(s string, i int) bool {
	before := strings.Fields(s[max(0, i-80):i])
	return len(before) >= 2 && before[len(before)-2] == "login"
}

// sets reports whether a function takes a secret, as opposed to giving it.
func sets(function string) bool {
	function = strings.ToLower(function)
	for _, verb := range []string{"set", "with", "use", "put", "add"} {
		if strings.HasPrefix(function, verb) || strings.Contains(function, "."+verb) {
			return true
		}
	}
	return !strings.ContainsAny(function, "._") && (strings.HasPrefix(function, "pass") || strings.HasPrefix(function, "basicauth"))
}

// setter takes out the second argument of a call whose first one is the name
// of a secret: headers.set("X-Api-Key", "…").
func (sc *scanner) setter(i, end int) int {
	s := sc.s
	if s[end] != '(' {
		return 0
	}
	function := strings.ToLower(s[max(i, end-24):end])
	if !strings.HasSuffix(function, "header") && !strings.Contains(function, "set") && !strings.Contains(function, "put") &&
		!strings.Contains(function, "add") && !strings.HasSuffix(function, "build_object") && !strings.HasSuffix(function, "append") {
		return 0
	}
	if end+1 == len(s) || !lex.IsQuote(s[end+1]) {
		return 0
	}
	start, stop, after, ok := lex.Literal(s, end+1)
	if !ok || stop-start > 64 || sc.d.KindOf(s[start:stop]) == names.Plain {
		return 0
	}
	p := lex.SkipBlank(s, after)
	if p == len(s) || s[p] != ',' {
		return 0
	}
	vStart, vStop, vAfter, ok := lex.Literal(s, lex.SkipBlank(s, p+1))
	if !ok {
		return 0
	}
	return sc.take(start, vStart, vStop, vAfter, names.Secret)
}

// scheme takes out what follows "Bearer" or "Basic".
func (sc *scanner) scheme(scheme string, end int) int {
	s := sc.s
	start, stop := nextWord(s, end)
	v := s[start:stop]
	if IsHarmless(v, names.Weak) || challenges[strings.ToLower(v)] {
		return 0
	}
	if scheme == "bearer" && (IsRandom(v, 6) || len(v) > 24) || scheme == "basic" && isBasic(v) {
		sc.add(start, stop, "scheme")
		return stop
	}
	return 0
}

// isBasic reports whether a text is user and password in base64.
func isBasic(v string) bool {
	if len(v) > 1024 {
		return true
	}
	plain, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(v, "="))
	return err == nil && utf8.Valid(plain) && strings.IndexByte(string(plain), ':') >= 0
}

// flag takes out the argument of a flag of a command, named from i to end.
func (sc *scanner) flag(i, end int) int {
	s := sc.s
	p := lex.SkipBlank(s, end)
	if end-i == 1 || p == end || p == len(s) || s[p] == '-' {
		return 0
	}
	k := sc.d.KindOf(s[i:end])
	if k == names.Plain {
		return 0
	}
	start, stop, after := argument(s, p)
	return sc.take(i, start, stop, after, k)
}

// argument returns one argument of a command line.
func argument(s string, p int) (start, stop, after int) {
	if start, stop, after, ok := lex.Literal(s, p); ok {
		return start, stop, after
	}
	stop = p
	for stop < len(s) && !lex.IsSpace(s[stop]) {
		if s[stop] == '\\' || lex.IsQuote(s[stop]) && endsValue(s, stop, p) {
			break
		}
		stop++
	}
	return p, stop, stop
}

// skipSpace returns where the white space at p ends.
func skipSpace(s string, p int) int {
	for p < len(s) && lex.IsSpace(s[p]) {
		p++
	}
	return p
}

// nextWord returns the next word of a sentence, without what closes it.
func nextWord(s string, p int) (start, stop int) {
	start = lex.SkipBlank(s, p)
	stop = start
	for stop < len(s) && !lex.IsSpace(s[stop]) && !lex.IsQuote(s[stop]) && s[stop] != '\\' {
		stop++
	}
	for stop > start && strings.IndexByte(".,;:!?)]}>", s[stop-1]) >= 0 && s[start:stop] != lex.Mark {
		stop--
	}
	return start, stop
}

var (
	// challenges are the parameters of WWW-Authenticate.
	challenges = names.Exactly(`realm= scope= error= error_description= error_uri= charset= title= resource_metadata=`)

	// linkWords stand between the name of a secret and the secret in a sentence.
	linkWords = names.Exactly(`is are was to as becomes equals be ist lautet est es är é è - – —`)
)
