// Package strictjson reads and writes the JSON of a call so that every reader
// sees the same call.
//
// A document is refused when two readers could disagree about it: duplicate
// member names, names that differ only by Unicode normalisation, invalid
// UTF-8, lone surrogates, anything after the document. It is refused when it
// is too large in any direction: see Limits. Numbers stay the text they were.
//
// A parsed value is nil, bool, string, json.Number, []any or map[string]any.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/unicode/norm"
)

// Limits of one document.
const (
	MaxBytes       = 1 << 20
	MaxDepth       = 64
	MaxNames       = 10_000
	MaxNumberBytes = 100
)

// A Code says, for machines, why a document was refused. It is stable.
type Code string

// The codes.
const (
	CodeSyntax       Code = "request.syntax"
	CodeEncoding     Code = "request.encoding"
	CodeDuplicateKey Code = "request.duplicate_key"
	CodeTooLarge     Code = "request.too_large"
	CodeTooDeep      Code = "request.too_deep"
	CodeTooManyKeys  Code = "request.too_many_keys"
	CodeNumber       Code = "request.number"
)

// An Error says why a document was refused. Its text holds nothing of the
// document.
type Error struct {
	Code   Code
	Offset int64 // in bytes, where reading stopped
	Detail string
}

func (e *Error) Error() string { return fmt.Sprintf("%s at byte %d", e.Detail, e.Offset) }

// Parse reads one document.
func Parse(doc []byte) (any, error) {
	if len(doc) > MaxBytes {
		return nil, &Error{Code: CodeTooLarge, Offset: MaxBytes, Detail: "document is larger than 1 MiB"}
	}
	p := parser{dec: jsontext.NewDecoder(bytes.NewBuffer(doc), jsontext.AllowDuplicateNames(true))}
	v, err := p.value(0)
	if err == nil {
		err = p.end()
	}
	if err != nil {
		return nil, p.explain(err, doc)
	}
	return v, nil
}

type parser struct {
	dec   *jsontext.Decoder
	names int
}

func (p *parser) value(depth int) (any, error) {
	tok, err := p.dec.ReadToken()
	if err != nil {
		return nil, err
	}
	switch tok.Kind() {
	case '{':
		return p.object(depth + 1)
	case '[':
		return p.array(depth + 1)
	case '"':
		return tok.String(), nil
	case '0':
		return p.number(tok.String())
	case 't', 'f':
		return tok.Bool(), nil
	default:
		return nil, nil
	}
}

func (p *parser) number(text string) (any, error) {
	if len(text) > MaxNumberBytes {
		return nil, p.refuse(CodeNumber, fmt.Sprintf("number is longer than %d digits", MaxNumberBytes))
	}
	return json.Number(text), nil
}

func (p *parser) object(depth int) (any, error) {
	if depth > MaxDepth {
		return nil, p.refuse(CodeTooDeep, fmt.Sprintf("document is nested deeper than %d levels", MaxDepth))
	}
	obj := make(map[string]any, 4)
	var normalised map[string]bool // made only when a name is not ASCII
	for p.dec.PeekKind() != '}' {
		tok, err := p.dec.ReadToken()
		if err != nil {
			return nil, err
		}
		name := tok.String()
		if p.names++; p.names > MaxNames {
			return nil, p.refuse(CodeTooManyKeys, fmt.Sprintf("document has more than %d member names", MaxNames))
		}
		if _, dup := obj[name]; dup {
			return nil, p.refuse(CodeDuplicateKey, "member name stands twice in one object")
		}
		if !isASCII(name) {
			if normalised == nil {
				normalised = make(map[string]bool)
			}
			n := norm.NFKC.String(name)
			if _, plain := obj[n]; normalised[n] || (plain && n != name) {
				return nil, p.refuse(CodeDuplicateKey, "member names are equal after Unicode normalisation")
			}
			normalised[n] = true
		} else if normalised[name] {
			return nil, p.refuse(CodeDuplicateKey, "member names are equal after Unicode normalisation")
		}
		if obj[name], err = p.value(depth); err != nil {
			return nil, err
		}
	}
	_, err := p.dec.ReadToken()
	return obj, err
}

func (p *parser) array(depth int) (any, error) {
	if depth > MaxDepth {
		return nil, p.refuse(CodeTooDeep, fmt.Sprintf("document is nested deeper than %d levels", MaxDepth))
	}
	list := []any{}
	for p.dec.PeekKind() != ']' {
		v, err := p.value(depth)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := p.dec.ReadToken()
	return list, err
}

func (p *parser) end() error {
	if _, err := p.dec.ReadToken(); !errors.Is(err, io.EOF) {
		if err == nil {
			err = p.refuse(CodeSyntax, "something follows the document")
		}
		return err
	}
	return nil
}

func (p *parser) refuse(code Code, detail string) error {
	return &Error{Code: code, Offset: p.dec.InputOffset(), Detail: detail}
}

// explain turns the decoder's errors into ours, which quote nothing.
func (p *parser) explain(err error, doc []byte) error {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e
	}
	offset := p.dec.InputOffset()
	switch {
	case !utf8.Valid(doc):
		return &Error{Code: CodeEncoding, Offset: offset, Detail: "document is not valid UTF-8"}
	case strings.Contains(err.Error(), "surrogate"):
		return &Error{Code: CodeEncoding, Offset: offset, Detail: "string holds half of a surrogate pair"}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &Error{Code: CodeSyntax, Offset: offset, Detail: "document ends early"}
	default:
		return &Error{Code: CodeSyntax, Offset: offset, Detail: "document is not JSON"}
	}
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
