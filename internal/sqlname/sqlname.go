// Package sqlname reads names of tables and functions as PostgreSQL does, and
// patterns of them.
//
// A name has a schema or has none: parts with a dot between them. A part folds
// to lower case unless it stands in double quotes. In a pattern a * in a part
// without quotes stands for any letters, none included; it never stands for a
// dot. A pattern is of at most two parts.
package sqlname

import (
	"errors"
	"strings"
	"unicode"
)

// Split reads a name as the server reads one in a text, as for regclass: the
// last part is the name, the one before it the schema. ok is false for what is
// no name; a bare number is none.
func Split(text string) (schema, name string, ok bool) {
	parts, err := split(text)
	if err != nil {
		return "", "", false
	}
	last := parts[len(parts)-1]
	if len(parts) == 1 {
		return "", last.text, last.quoted || strings.Trim(last.text, "0123456789") != ""
	}
	return parts[len(parts)-2].text, last.text, true
}

type part struct {
	text   string
	quoted bool
}

func split(text string) ([]part, error) {
	var parts []part
	for rest := strings.TrimSpace(text); ; {
		var p part
		var err error
		if p, rest, err = cut(rest); err != nil {
			return nil, err
		}
		parts = append(parts, p)
		rest = strings.TrimSpace(rest)
		if rest == "" {
			return parts, nil
		}
		if rest[0] != '.' {
			return nil, errors.New("has something after a name that is no dot")
		}
		rest = strings.TrimSpace(rest[1:])
	}
}

// cut takes the first part off.
func cut(s string) (p part, rest string, err error) {
	if !strings.HasPrefix(s, `"`) {
		end := strings.IndexFunc(s, func(r rune) bool { return r == '.' || r == '"' || unicode.IsSpace(r) })
		if end < 0 {
			end = len(s)
		}
		if end == 0 {
			return p, "", errors.New("has a part that is empty")
		}
		return part{text: fold(s[:end])}, s[end:], nil
	}
	var b strings.Builder
	for s = s[1:]; ; s = s[1:] {
		i := strings.IndexByte(s, '"')
		if i < 0 {
			return p, "", errors.New("has a quotation mark that is not closed")
		}
		b.WriteString(s[:i])
		if s = s[i+1:]; !strings.HasPrefix(s, `"`) { // two of them stand for one
			break
		}
		b.WriteByte('"')
	}
	if b.Len() == 0 {
		return p, "", errors.New("has a part that is empty")
	}
	return part{text: b.String(), quoted: true}, s, nil
}

// fold lowers the letters of ASCII, as the server does in UTF-8 databases.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// A Pattern is a name, or many. The zero Pattern is none.
type Pattern struct {
	text         string
	schema, name part
	hasSchema    bool
}

// Parse reads a pattern. The error says what is wrong with it, in words that
// follow the pattern itself.
func Parse(text string) (Pattern, error) {
	parts, err := split(text)
	if err != nil {
		return Pattern{}, err
	}
	p := Pattern{text: text, name: parts[len(parts)-1]}
	switch len(parts) {
	case 1:
	case 2:
		p.schema, p.hasSchema = parts[0], true
	default:
		return Pattern{}, errors.New("has more parts than a schema and a name")
	}
	return p, nil
}

// String returns the pattern as it was written.
func (p Pattern) String() string { return p.text }

// HasSchema reports whether the pattern says anything about the schema.
func (p Pattern) HasSchema() bool { return p.hasSchema }

// IsExact reports whether the pattern stands for one name only.
func (p Pattern) IsExact() bool { return !p.name.isPattern() && !p.schema.isPattern() }

// Match reports whether the pattern stands for a name. A pattern without a
// schema stands for the name in every schema.
func (p Pattern) Match(schema, name string) bool {
	return p.text != "" && p.name.match(name) && (!p.hasSchema || p.schema.match(schema))
}

func (p part) isPattern() bool { return !p.quoted && strings.Contains(p.text, "*") }

func (p part) match(s string) bool {
	if !p.isPattern() {
		return p.text == s
	}
	pieces := strings.Split(p.text, "*")
	last := len(pieces) - 1
	if !strings.HasPrefix(s, pieces[0]) || len(s) < len(pieces[0])+len(pieces[last]) || !strings.HasSuffix(s, pieces[last]) {
		return false
	}
	s = s[len(pieces[0]) : len(s)-len(pieces[last])]
	for _, piece := range pieces[1:last] {
		i := strings.Index(s, piece)
		if i < 0 {
			return false
		}
		s = s[i+len(piece):]
	}
	return true
}
