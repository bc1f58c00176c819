package redact

import "strings"

// A trigger finds, in one pass over a text, whether anything is in it that a
// secret could be told by. Most texts hold nothing, and end here. It is an
// Aho-Corasick automaton over ASCII without case.
type trigger struct {
	class [256]uint8 // of a byte; 0 is any other
	width int
	next  []uint16 // state*width + class; hit if nothing more need be read
}

const hit = ^uint16(0)

// A letter that is not ASCII may stand for any other: see plainLetters. So it
// is a hit.
func newTrigger(patterns []string) *trigger {
	t := &trigger{width: 1}
	for _, p := range patterns {
		for i := range len(p) {
			if c := p[i]; t.class[c] == 0 {
				t.class[c] = uint8(t.width) // there are at most 128 ASCII characters
				t.width++
			}
		}
	}
	for c := byte('a'); c <= 'z'; c++ {
		t.class[c-0x20] = t.class[c]
	}
	t.build(patterns)
	return t
}

func (t *trigger) build(patterns []string) {
	t.next = make([]uint16, t.width)
	for _, p := range patterns {
		t.insert(p)
	}
	fail := make([]int, len(t.next)/t.width)
	var queue []int
	for c := range t.width {
		if to := t.next[c]; to != 0 && to != hit {
			queue = append(queue, int(to))
		}
	}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for c := range t.width {
			other := t.next[fail[at]*t.width+c]
			switch to := t.next[at*t.width+c]; {
			case to == hit:
			case to == 0 || other == hit:
				t.next[at*t.width+c] = other
			default:
				fail[to] = int(other)
				queue = append(queue, int(to))
			}
		}
	}
}

func (t *trigger) insert(pattern string) {
	at := 0
	for i := range len(pattern) {
		edge := &t.next[at*t.width+int(t.class[pattern[i]])]
		switch {
		case *edge == hit:
			return
		case i == len(pattern)-1:
			*edge = hit
		case *edge == 0:
			*edge = uint16(len(t.next) / t.width) // patterns are few and short
			at = int(*edge)
			t.next = append(t.next, make([]uint16, t.width)...)
		default:
			at = int(*edge)
		}
	}
}

// in reports whether any pattern, or a letter that is not ASCII, is in s.
func (t *trigger) in(s string) bool {
	state := 0
	for i := range len(s) {
		c := s[i]
		if c >= 0x80 {
			return true
		}
		to := t.next[state+int(t.class[c])]
		if to == hit {
			return true
		}
		state = int(to) * t.width
	}
	return false
}

var (
	// nameSigns finds what the names of secrets are made of.
	nameSigns = newTrigger(namePatterns())

	// signs finds whatever a secret could be told by.
	signs = newTrigger(signPatterns())
)

func namePatterns() []string {
	return strings.Fields(`pass pwd secret token key auth bearer cookie cred jwt otp pin dsn mnemonic cvv cvc sess psk
		kennwort senha contrase parola haslo heslo wachtwoord losenord salasana jelszo sifre clave pw conn phrase code sig hmac
		assertion verifier sas ticket`)
}

func signPatterns() []string {
	patterns := append(namePatterns(), strings.Fields(`basic crypt identified :// begin eyj ewog @tcp( @unix( @( @// curl mysql mariadb redis-cli
		sqlcmd mongo ldap smbclient zip 7z -u login verify( :aa thin: %70 \u00 &# dblink
		sk0 sk1 sk2 sk3 sk4 sk5 sk6 sk7 sk8 sk9 ska skb skc skd ske skf`)...)
	for _, forms := range tokenForms {
		for _, f := range forms {
			if len(f.prefix) > 2 { // "SK" is in too many words: it stands above with a digit
				patterns = append(patterns, strings.ToLower(f.prefix))
			}
		}
	}
	for digits := range strings.FieldsSeq("mt mj mz nd nt nj nz od ot") { // Discord: base64 of digits
		for _, c := range "aeimquycgk" {
			for _, d := range "wxyz012345" {
				patterns = append(patterns, digits+string(c)+string(d))
			}
		}
	}
	return patterns
}
