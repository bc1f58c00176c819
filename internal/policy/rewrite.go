package policy

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/plan"
)

// The bounds of a rewrite.
const (
	maxRewriteTools = 64
	maxRewritePaths = 64
	maxValueBytes   = 4096
	maxSQLLimit     = 1_000_000 // rows
)

func (c *compiler) rewrite(at *field.Path, r *v1alpha1.Rewrite, out *plan.Hook) {
	out.Kind = plan.KindRewrite
	out.Tools = c.rewriteTools(at.Child("tools"), r.Tools)
	w := &writes{compiler: c, byPath: make(map[string]*field.Path)}
	out.Rewrite = &plan.Rewrite{
		Set:    w.set(at.Child("set"), r.Set),
		Remove: w.remove(at.Child("remove"), r.Remove),
	}
	if r.SQLLimit != nil {
		out.Rewrite.SQLLimit = w.sqlLimit(at.Child("sqlLimit"), r.SQLLimit)
	}
	if r.Set == nil && len(r.Remove) == 0 && r.SQLLimit == nil {
		c.add(field.Required(at, "a rewrite needs set, remove or sqlLimit"))
	}
	for _, a := range out.Rewrite.Set {
		out.Sets = append(out.Sets, a.Path)
	}
}

func (c *compiler) rewriteTools(at *field.Path, tools []string) []string {
	switch {
	case len(tools) == 0:
		c.add(field.Required(at, "the exact names of the tools whose calls are rewritten"))
	case len(tools) > maxRewriteTools:
		c.add(field.TooMany(at, len(tools), maxRewriteTools))
		return nil
	}
	c.unique(at, tools)
	for i, tool := range tools {
		c.tool(at.Index(i), tool)
	}
	return sorted(tools)
}

// writes are the paths that one rewrite writes, while they are collected.
type writes struct {
	*compiler
	byPath map[string]*field.Path // canonical path to where the policy has it
}

// add takes a path that is not, and does not overlap, one that the rewrite
// writes already: which of the two wins would depend on their order.
func (w *writes) add(at *field.Path, text string) (path string, ok bool) {
	path = w.argument(at, text)
	if path == "" {
		return "", false
	}
	for _, other := range slices.Sorted(maps.Keys(w.byPath)) {
		if within(path, other) || within(other, path) {
			w.compiler.add(field.Invalid(at, clip(text), "the same argument is written by "+w.byPath[other].String()))
			return "", false
		}
	}
	w.byPath[path] = at
	return path, true
}

// sqlLimit takes a path that nothing else of the rewrite writes.
func (w *writes) sqlLimit(at *field.Path, l *v1alpha1.SQLLimit) *plan.SQLLimit {
	if l.Max == 0 {
		w.compiler.add(field.Required(at.Child("max"), "how many rows a query may give"))
	}
	path, _ := w.add(at.Child("path"), l.Path)
	return &plan.SQLLimit{Path: path, Max: w.bounded(at.Child("max"), l.Max, 0, 1, maxSQLLimit)}
}

func (w *writes) set(at *field.Path, raw *runtime.RawExtension) []plan.Assignment {
	if raw == nil {
		return nil
	}
	var values map[string]json.RawMessage
	if err := json.Unmarshal(raw.Raw, &values); err != nil {
		w.compiler.add(field.Invalid(at, "", "must be an object that maps argument paths to values"))
		return nil
	}
	switch n := len(values); {
	case n == 0:
		w.compiler.add(field.Required(at, "at least one argument path and its value"))
	case n > maxRewritePaths:
		w.compiler.add(field.TooMany(at, n, maxRewritePaths))
		return nil
	}
	var set []plan.Assignment
	for _, key := range slices.Sorted(maps.Keys(values)) {
		path, ok := w.add(at.Key(clip(key)), key)
		value := w.value(at.Key(clip(key)), values[key])
		if ok {
			set = append(set, plan.Assignment{Path: path, Value: value})
		}
	}
	slices.SortFunc(set, func(a, b plan.Assignment) int { return bytes.Compare([]byte(a.Path), []byte(b.Path)) })
	return set
}

// value returns the canonical text of a value: names sorted, numbers as they
// were written, no white space. Errors do not repeat it, it may be a secret.
func (w *writes) value(at *field.Path, raw json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		w.compiler.add(field.Invalid(at, field.OmitValueType{}, "is no JSON value"))
		return ""
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		w.compiler.add(field.Invalid(at, field.OmitValueType{}, "is no JSON value"))
		return ""
	}
	if text.Len() > maxValueBytes {
		w.compiler.add(field.TooLong(at, "", maxValueBytes))
	}
	return string(bytes.TrimSuffix(text.Bytes(), []byte("\n")))
}

func (w *writes) remove(at *field.Path, paths []string) []string {
	if len(paths) > maxRewritePaths {
		w.compiler.add(field.TooMany(at, len(paths), maxRewritePaths))
		return nil
	}
	var remove []string
	for i, text := range paths {
		if path, ok := w.add(at.Index(i), text); ok {
			remove = append(remove, path)
		}
	}
	return sorted(remove)
}
