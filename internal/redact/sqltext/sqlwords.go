package sqltext

import (
	"maps"
	"strings"

	"github.com/hookpolicy/hookpolicy/internal/redact/lex"
	"github.com/hookpolicy/hookpolicy/internal/redact/names"
)

// word judges the keyword or identifier at i.
func (q *sqlScanner) word(s string, i, base int) int {
	var end int
	var name string
	if c := s[i]; c == '"' || c == '`' {
		start, stop, after, ok := lex.Literal(s, i)
		if !ok {
			return i + 1
		}
		if q.secret && c == '"' { // in MySQL it is a literal
			q.take(s[start:stop], lex.Span{Start: base + start, End: base + stop, How: "sql"})
			return after
		}
		end, name = after, s[start:min(stop, start+64)]
	} else {
		for end = i; end < len(s) && (lex.IsAlnum(s[end]) || s[end] == '_' || s[end] == '@' || s[end] == '#' || s[end] >= 0x80); end++ {
		}
		name = s[i:end]
	}
	lower := sqlWord(name)
	before := q.keyword
	q.named = false
	if q.keyword = lower; lower != "row" {
		q.op = 0
	}
	if f := q.top(); f.byColumn && q.strict.Has(f.arg) && len(name) >= 4 && lex.IsDigit(s[i]) {
		q.take(name, lex.Span{Start: base + i, End: base + end, How: "sql"})
	}
	if name == "" || lex.IsDigit(name[0]) {
		return end
	}
	q.judge(s, end, lower, name, before)
	return end
}

// judge says what a word means for the literals that follow it.
func (q *sqlScanner) judge(s string, end int, lower, name, before string) {
	last := q.last
	if lower == "as" {
		return
	}
	q.last = lex.Span{}
	q.note(lower)
	switch lower {
	case "values":
		q.values, q.secret = true, false
		return
	case "select":
		if q.columns != (lex.Columns{}) {
			f := q.top()
			f.byColumn, f.arg = true, 0
		}
		q.secret = false
		return
	case "from":
		q.top().byColumn = false
		q.secret = q.secret && before == "distinct"
		return
	case "is":
		next := strings.ToLower(strings.TrimLeft(s[end:min(len(s), end+24)], " \t\n"))
		q.secret = q.secret && (strings.HasPrefix(next, "distinct") || strings.HasPrefix(next, "not distinct"))
		return
	case "for":
		q.awaits, q.secret = q.secret, false
		return
	case "identified":
		q.secret = true
		return
	case "authorization": // a role, not a header
		q.secret = false
		return
	}
	if q.secret && (through[lower] || lower == "and" && q.between) {
		q.between = lower == "between"
		return
	}
	q.identifier(s, end, lower, name, last)
}

// note keeps what a word says of the rows or values that follow.
func (q *sqlScanner) note(lower string) {
	switch lower {
	case "copy":
		q.copied = true
	case "stdin":
		q.stdin = true
	case "csv":
		q.comma = ','
	case "execute":
		q.execute = true
	}
}

// identifier says what the name of a column, a function or the like means.
func (q *sqlScanner) identifier(s string, end int, lower, name string, last lex.Span) {
	k := q.d.KindOf(name)
	if q.secret && k == names.Plain && strings.HasPrefix(s[end:], "(") && functions[lower] == 0 {
		return // token = lower('…')
	}
	q.secret, q.named = k != names.Plain, k != names.Plain
	q.ident = lower
	q.lastName = names.IsNameField(lower)
	if k == names.Plain {
		return
	}
	f := q.top()
	if !f.byColumn {
		f.names.Add(f.arg)
		if k == names.Secret {
			f.strict.Add(f.arg)
		}
	}
	if last.End > 0 {
		q.spans = append(q.spans, last) // '…' = token, '…' AS token
	}
}

// sqlWord returns a word that this package knows, in lower case; "?" if it
// does not.
func sqlWord(name string) string {
	var folded [24]byte
	if len(name) > len(folded) {
		return "?"
	}
	for i := range len(name) {
		folded[i] = name[i]
		if lex.IsUpper(name[i]) {
			folded[i] |= 0x20
		}
	}
	if known, ok := sqlWords[string(folded[:len(name)])]; ok {
		return known
	}
	return "?"
}

// sqlWords are the words that sqlScanner asks for.
var sqlWords = knownWords()

func knownWords() map[string]string {
	all := names.Exactly(`as values select from is for identified authorization distinct row in gen_salt and format copy stdin csv execute delimiter`)
	for _, more := range []map[string]bool{through, builders, names.Exactly(names.NameFields), names.Exactly(names.ValueFields)} {
		maps.Copy(all, more)
	}
	for name := range functions {
		all[name] = true
	}
	words := make(map[string]string, len(all))
	for w := range all {
		words[w] = w
	}
	return words
}

var (
	// through are words that may stand between a name and its literal.
	through = names.Set(`in like ilike any all some array not between similar to by with distinct collate row constant default escape null
		text varchar char character varying nvarchar nchar string bytea cast binary hashed unencrypted encrypted
		as is using value old_password case when then else true false`)

	// functions are those with secret arguments, and which: bit n for the nth.
	functions = map[string]uint8{
		"crypt": 1, "pgp_sym_encrypt": 3, "pgp_sym_decrypt": 2, "pgp_sym_encrypt_bytea": 3, "pgp_sym_decrypt_bytea": 2,
		"pgp_pub_decrypt": 6, "pgp_pub_decrypt_bytea": 6, "encrypt": 3, "decrypt": 2, "encrypt_iv": 3, "decrypt_iv": 2, "hmac": 2,
		"aes_encrypt": 3, "aes_decrypt": 2, "des_encrypt": 3, "des_decrypt": 2, "encryptbypassphrase": 3, "decryptbypassphrase": 1,
		"password": 1, "old_password": 1, "create_secret": 1, "create_aws_credentials": 7, "sign": 2, "verify": 3,
		"encode_jwt": 6, "set_password": 3, "change_password": 7, "reset_password": 3, "update_password": 7, "verify_password": 3,
		"check_password": 3, "validate_password": 3, "hash_password": 1, "pwdencrypt": 1, "pwdcompare": 1,
	}

	// builders are functions whose arguments are names and values in turn.
	builders = names.Exactly(`jsonb_build_object json_build_object json_object jsonb_object hstore set_config jsonb_set map map_from_entries`)
)
