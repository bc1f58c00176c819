package audit

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// members are the members of an entry that a chain is made of, as they stand
// between their quotes, and those that closure and checkpoints are read from.
// Absent ones are nil. v, ref, approval, detail and repeat stand as they are.
type members struct {
	v, kind, log, prev, seq, tenant, ts []byte

	id, decision, ref, approval, outcome, detail, repeat []byte
}

func (m *members) set(name, raw []byte) {
	switch string(name) {
	case "v":
		m.v = raw
	case "kind":
		m.kind = unquoted(raw)
	case "log":
		m.log = unquoted(raw)
	case "prev_hash":
		m.prev = unquoted(raw)
	case "seq":
		m.seq = unquoted(raw)
	case "tenant":
		m.tenant = unquoted(raw)
	case "ts":
		m.ts = unquoted(raw)
	case "id":
		m.id = unquoted(raw)
	case "decision":
		m.decision = unquoted(raw)
	case "ref":
		m.ref = raw
	case "approval":
		m.approval = raw
	case "outcome":
		m.outcome = raw
	case "detail":
		m.detail = raw
	case "repeat":
		m.repeat = raw
	}
}

// unquoted returns the inside of a string, nil for any other value.
func unquoted(raw []byte) []byte {
	if raw[0] != '"' {
		return nil
	}
	return raw[1 : len(raw)-1]
}

// A scanner accepts JSON in the canonical form of RFC 8785 and nothing else.
// Its recursion is bounded by the size of an entry.
type scanner struct {
	b []byte
	i int
}

// scanEntry reads a whole entry, given without its closing brace.
func scanEntry(open []byte, m *members) bool {
	s := scanner{b: open}
	if !s.next('{') {
		return false
	}
	var last []byte
	for s.i < len(open) {
		if last != nil && !s.next(',') {
			return false
		}
		name, raw, ok := s.member(last)
		if !ok {
			return false
		}
		m.set(name, raw)
		last = name
	}
	return last != nil
}

func (s *scanner) next(c byte) bool {
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

func (s *scanner) word(w string) bool {
	if len(s.b)-s.i < len(w) || string(s.b[s.i:s.i+len(w)]) != w {
		return false
	}
	s.i += len(w)
	return true
}

func (s *scanner) value() bool {
	if s.i >= len(s.b) {
		return false
	}
	switch s.b[s.i] {
	case '"':
		_, ok := s.text()
		return ok
	case '{':
		return s.object()
	case '[':
		return s.array()
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	default:
		return s.number()
	}
}

func (s *scanner) object() bool {
	s.i++
	if s.next('}') {
		return true
	}
	var last []byte
	for {
		name, _, ok := s.member(last)
		if !ok {
			return false
		}
		if s.next('}') {
			return true
		}
		if !s.next(',') {
			return false
		}
		last = name
	}
}

// member reads a name, which must come after last in order, and a value. So
// names ascend, which rules out duplicates too. last is nil before the first.
func (s *scanner) member(last []byte) (name, raw []byte, ok bool) {
	start := s.i
	escaped, ok := s.text()
	if !ok || !s.next(':') {
		return nil, nil, false
	}
	name = s.b[start+1 : s.i-len(`":`)]
	if escaped {
		name = unescape(name)
	}
	if last != nil && compareNames(last, name) >= 0 {
		return nil, nil, false
	}
	start = s.i
	ok = s.value()
	return name, s.b[start:s.i], ok
}

func (s *scanner) array() bool {
	s.i++
	if s.next(']') {
		return true
	}
	for s.value() {
		if s.next(']') {
			return true
		}
		if !s.next(',') {
			return false
		}
	}
	return false
}

func (s *scanner) number() bool {
	start := s.i
	for s.i < len(s.b) && isNumberByte(s.b[s.i]) {
		s.i++
	}
	return isCanonicalNumber(s.b[start:s.i])
}

func isNumberByte(c byte) bool {
	return '0' <= c && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'e'
}

// text reads a string and tells whether it has escapes.
func (s *scanner) text() (escaped, ok bool) {
	if !s.next('"') {
		return false, false
	}
	for {
		s.skipPlain()
		if s.i >= len(s.b) {
			return escaped, false
		}
		switch c := s.b[s.i]; {
		case c == '"':
			s.i++
			return escaped, true
		case c == '\\':
			escaped = true
			n := canonicalEscape(s.b[s.i:])
			if n == 0 {
				return escaped, false
			}
			s.i += n
		case c < ' ':
			return escaped, false
		default:
			r, n := utf8.DecodeRune(s.b[s.i:])
			if r == utf8.RuneError && n == 1 {
				return escaped, false
			}
			s.i += n
		}
	}
}

// skipPlain moves over bytes that stand for themselves, eight at a time while
// there are as many.
func (s *scanner) skipPlain() {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for len(s.b)-s.i >= 8 {
		w := binary.LittleEndian.Uint64(s.b[s.i:])
		quote, slash := w^(ones*'"'), w^(ones*'\\')
		// The high bit of a byte is set if the byte is a quote, a backslash,
		// below space, or beyond ASCII. A borrow can set it wrongly only above
		// a byte for which it is set rightly: the lowest one is right.
		if found := ((quote - ones) | (slash - ones) | (w - ones*' ') | w) & highs; found != 0 {
			s.i += bits.TrailingZeros64(found) / 8
			return
		}
		s.i += 8
	}
	for s.i < len(s.b) && plain[s.b[s.i]] {
		s.i++
	}
}

// canonicalEscape returns the length of the escape that b starts with, 0 if the
// character has a shorter form.
func canonicalEscape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', 'b', 't', 'n', 'f', 'r':
		return 2
	case 'u':
		if len(b) < 6 || b[2] != '0' || b[3] != '0' {
			return 0
		}
		c, ok := hexByte(b[4], b[5])
		if ok && c < ' ' && shortEscape(c) == 0 {
			return 6
		}
	}
	return 0
}

func hexByte(high, low byte) (byte, bool) {
	h, l := hexDigit(high), hexDigit(low)
	return h<<4 | l&15, h < 16 && l < 16
}

// hexDigit returns the value of a lower-case digit, 255 for any other byte.
func hexDigit(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	default:
		return 255
	}
}

// unescape undoes canonical escapes.
func unescape(raw []byte) []byte {
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			out = append(out, raw[i])
			continue
		}
		i++
		switch c := raw[i]; c {
		case 'b':
			out = append(out, '\b')
		case 't':
			out = append(out, '\t')
		case 'n':
			out = append(out, '\n')
		case 'f':
			out = append(out, '\f')
		case 'r':
			out = append(out, '\r')
		case 'u':
			c, _ = hexByte(raw[i+3], raw[i+4])
			out = append(out, c)
			i += 4
		default:
			out = append(out, c)
		}
	}
	return out
}
