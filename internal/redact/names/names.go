package names

import (
	"strings"

	"github.com/hookpolicy/hookpolicy/internal/redact/lex"
	"github.com/hookpolicy/hookpolicy/internal/redact/trigger"
)

// A Kind says how much a name says of its value.
type Kind uint8

// What names say, the least first.
const (
	Plain  Kind = iota // no secret
	Weak               // a secret mostly, but also an everyday word: small numbers, schemes and objects stay
	Count              // numbers of things with such a name are many: numbers stay
	Secret             // whatever it holds is removed
)

// signs finds what the names of secrets are made of.
var signs = trigger.New(Patterns())

// Tell reports whether anything in a text could be the name of a secret.
func Tell(s string) bool { return signs.In(s) }

// Patterns returns what the names of secrets are made of: one of them is in
// each.
func Patterns() []string {
	return strings.Fields(`pass pwd secret token key auth bearer cookie cred jwt otp pin dsn mnemonic cvv cvc sess psk
		kennwort senha contrase parola haslo heslo wachtwoord losenord salasana jelszo sifre clave pw conn phrase code sig hmac
		assertion verifier sas ticket answer number masterauth stringdata`)
}

// KindOf says what a name says. It allocates nothing for ordinary names. A
// name that is too long is judged by its beginning and its end.
func (d *Dictionary) KindOf(name string) Kind {
	if !signs.In(name) && !d.ExtraIn(name) {
		return Plain
	}
	k := d.kindOfPart(name)
	if len(name) > maxName {
		k = max(k, d.kindOfPart(name[:maxName]))
	}
	return k
}

func (d *Dictionary) kindOfPart(name string) Kind {
	var w words
	w.split(name)
	if w.count == 0 {
		return Plain
	}
	if len(d.extra) > 0 && d.isExtra(&w) {
		return Secret
	}
	return w.kind()
}

func (d *Dictionary) isExtra(w *words) bool {
	_, ok := d.extra[string(w.all())]
	if !ok {
		_, ok = d.extra[strings.TrimSuffix(string(w.all()), "s")]
	}
	return ok
}

// kind looks for the last word that names a secret, and then whether the words
// about it say that something else is meant.
func (w *words) kind() Kind {
	for i := w.count - 1; i >= 0; i-- {
		k := w.named(i)
		if k == Plain {
			continue
		}
		if k == Weak && i < w.count-1 || w.toldAbout(i) || w.counted(i) {
			return Plain
		}
		return k
	}
	if joined[string(w.all())] {
		return Secret // oddly cased: pAssWord
	}
	return Plain
}

// named says what word i, or the phrase that ends with it, names.
func (w *words) named(i int) Kind {
	word := bareWord(w.at(i))
	singular := singularWord(word)
	if k, ok := single[string(singular)]; ok {
		if k == Secret && string(singular) == "token" && len(word) > len("token") {
			return Count
		}
		return k
	}
	if i > 0 {
		if before, ok := phrases[string(singular)]; ok && before[string(bareWord(w.at(i-1)))] {
			return Secret
		}
	}
	for _, end := range endings {
		if n := len(singular) - len(end); n > 0 && string(singular[n:]) == end {
			if end == "token" && tokenWords[string(singular[:n])] {
				return Plain
			}
			return Secret
		}
	}
	return Plain
}

// toldAbout reports whether the words after word i say that the value tells
// about a secret but is none.
func (w *words) toldAbout(i int) bool {
	for j := i + 1; j < w.count; j++ {
		tail := bareWord(w.at(j))
		if string(tail) == "id" && j == i+1 && w.idIsSecret(i) {
			return false
		}
		if j == w.count-1 && w.dotted && places[string(tail)] {
			return true
		}
		if metadata[string(tail)] || metadata[string(singularWord(tail))] {
			return true
		}
	}
	return false
}

// idIsSecret reports whether the id of word i is the secret itself (a Vault
// AppRole's secret_id) or half of it (an access key's).
func (w *words) idIsSecret(i int) bool {
	switch string(w.at(i)) {
	case "secret", "accesskey":
		return true
	case "key":
		return i > 0 && string(w.at(i-1)) == "access"
	}
	return false
}

// counted reports whether the words before word i say that the value counts or
// switches something.
func (w *words) counted(i int) bool {
	if i > 0 && switches[string(w.at(0))] {
		return true
	}
	last := string(singularWord(bareWord(w.at(i))))
	var benign map[string]bool
	switch last {
	case "token":
		benign = tokenWords
	case "pass", "pin":
		benign = passWords
	case "secret":
		benign = secretWords
	default:
		return false
	}
	for j := range i {
		if benign[string(bareWord(w.at(j)))] {
			return true
		}
	}
	return false
}

// bareWord takes the number off the end of a word: password2.
func bareWord(w []byte) []byte {
	n := len(w)
	for n > 0 && lex.IsDigit(w[n-1]) {
		n--
	}
	if n == 0 {
		return w
	}
	return w[:n]
}

func singularWord(w []byte) []byte {
	if n := len(w); n > 4 && w[n-1] == 's' && w[n-2] != 's' {
		return w[:n-1]
	}
	return w
}

// Set makes a set of the words of a text, folded like the words of names.
func Set(text string) map[string]bool {
	s := make(map[string]bool)
	for word := range strings.FieldsSeq(text) {
		s[Compact(word)] = true
	}
	return s
}

// Exactly makes a set of words as they are written.
func Exactly(text string) map[string]bool {
	s := make(map[string]bool)
	for w := range strings.FieldsSeq(text) {
		s[w] = true
	}
	return s
}
