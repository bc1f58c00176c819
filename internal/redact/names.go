package redact

import "strings"

// A kind says how much a name says of its value.
type kind uint8

const (
	plain  kind = iota
	weak        // a secret mostly, but also an everyday word: small numbers, schemes and objects stay
	count       // numbers of things with such a name are many: numbers stay
	secret      // whatever it holds is removed
)

// kindOf says what a name says. It allocates nothing for ordinary names. A
// name that is too long is judged by its beginning and its end.
func (r *Redactor) kindOf(name string) kind {
	if !nameSigns.in(name) && (r.also == nil || !r.also.in(name)) {
		return plain
	}
	k := r.kindOfPart(name)
	if len(name) > maxName {
		k = max(k, r.kindOfPart(name[:maxName]))
	}
	return k
}

func (r *Redactor) kindOfPart(name string) kind {
	var w words
	w.split(name)
	if w.count == 0 {
		return plain
	}
	if len(r.extra) > 0 && r.isExtra(&w) {
		return secret
	}
	return w.kind()
}

func (r *Redactor) isExtra(w *words) bool {
	_, ok := r.extra[string(w.all())]
	if !ok {
		_, ok = r.extra[strings.TrimSuffix(string(w.all()), "s")]
	}
	return ok
}

// kind looks for the last word that names a secret, and then whether the words
// about it say that something else is meant.
func (w *words) kind() kind {
	for i := w.count - 1; i >= 0; i-- {
		k := w.named(i)
		if k == plain {
			continue
		}
		if k == weak && i < w.count-1 || w.toldAbout(i) || w.counted(i) {
			return plain
		}
		return k
	}
	if joined[string(w.all())] {
		return secret // oddly cased: pAssWord
	}
	return plain
}

// named says what word i, or the phrase that ends with it, names.
func (w *words) named(i int) kind {
	word := bareWord(w.at(i))
	singular := singularWord(word)
	if k, ok := single[string(singular)]; ok {
		if k == secret && string(singular) == "token" && len(word) > len("token") {
			return count
		}
		return k
	}
	if i > 0 {
		if before, ok := phrases[string(singular)]; ok && before[string(bareWord(w.at(i-1)))] {
			return secret
		}
	}
	for _, end := range endings {
		if n := len(singular) - len(end); n > 0 && string(singular[n:]) == end {
			if end == "token" && tokenWords[string(singular[:n])] {
				return plain
			}
			return secret
		}
	}
	return plain
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
	for n > 0 && isDigit(w[n-1]) {
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

// set makes a set of the words of a text, folded like the words of names.
func set(text string) map[string]bool {
	s := make(map[string]bool)
	for word := range strings.FieldsSeq(text) {
		s[compact(word)] = true
	}
	return s
}
