package policy

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/plan"
)

const maxPattern = 1024 // bytes

// declarations compiles the arguments that a hook judges and those that are
// data into one guard for each tool, and fills in what the kind of hook knows
// about the tools that it was made for.
func (c *compiler) declarations(at *field.Path, d *v1alpha1.Declarations, known []founding, out *plan.Hook) {
	undeclared := choose(c, at.Child("undeclaredArguments"), d.UndeclaredArguments, plan.VerdictDeny, plan.VerdictAllow)
	if !c.fits(at.Child("arguments"), len(d.Arguments)) || !c.fits(at.Child("data"), len(d.Data)) {
		return
	}
	g := &guards{compiler: c, byTool: make(map[string]*plan.Guard), declared: make(map[v1alpha1.Argument]bool)}
	if len(d.Arguments) == 0 {
		for _, f := range known {
			g.judge(at.Child("arguments"), f.tool, f.arguments[0])
		}
	}
	for i, a := range d.Arguments {
		g.judge(at.Child("arguments").Index(i), a.Tool, a.Path)
	}
	for i := range d.Data {
		g.datum(at.Child("data").Index(i), &d.Data[i])
	}
	for _, f := range known {
		g.complete(at, f)
	}
	out.Tools = slices.Grow(out.Tools, len(g.byTool))
	out.Guards = slices.Grow(out.Guards, len(g.byTool))
	for _, tool := range slices.Sorted(maps.Keys(g.byTool)) {
		guard := g.byTool[tool]
		guard.Undeclared = undeclared
		slices.Sort(guard.Judged)
		slices.SortFunc(guard.Data, func(a, b plan.Datum) int { return strings.Compare(a.Path, b.Path) })
		out.Tools = append(out.Tools, tool)
		out.Guards = append(out.Guards, *guard)
	}
}

func (c *compiler) fits(at *field.Path, n int) bool {
	if n > maxDeclarations {
		c.add(field.TooMany(at, n, maxDeclarations))
		return false
	}
	return true
}

// guards are the declarations of one hook while they are collected.
type guards struct {
	*compiler
	byTool   map[string]*plan.Guard
	declared map[v1alpha1.Argument]bool // paths are canonical
}

// judge declares an argument that the hook judges.
func (g *guards) judge(at *field.Path, tool, path string) {
	path, ok := g.declare(at, tool, path)
	if !ok {
		return
	}
	if g.byTool[tool] == nil {
		g.byTool[tool] = &plan.Guard{Tool: tool}
	}
	g.byTool[tool].Judged = append(g.byTool[tool].Judged, path)
}

// datum declares an argument that is data. All that is judged is known by then.
func (g *guards) datum(at *field.Path, d *v1alpha1.Datum) {
	kind := choose(g.compiler, at.Child("type"), d.Type, plan.TypeAny,
		plan.TypeString, plan.TypeBoolean, plan.TypeInteger, plan.TypeNumber, plan.TypeIdentifier)
	g.pattern(at.Child("pattern"), d.Pattern, kind)
	path, ok := g.declare(at, d.Tool, d.Path)
	if !ok {
		return
	}
	guard := g.byTool[d.Tool]
	if guard == nil {
		g.add(field.Invalid(at.Child("tool"), clip(d.Tool), "the hook judges no argument of this tool: list one in arguments"))
		return
	}
	guard.Data = append(guard.Data, plan.Datum{Path: path, Type: kind, Pattern: d.Pattern})
}

// declare checks that an argument is well named and declared once.
func (g *guards) declare(at *field.Path, tool, path string) (string, bool) {
	g.tool(at.Child("tool"), tool)
	path = g.argument(at.Child("path"), path)
	if tool == "" || path == "" {
		return "", false
	}
	key := v1alpha1.Argument{Tool: tool, Path: path}
	if g.declared[key] {
		g.add(field.Duplicate(at, fmt.Sprintf("%s of %s", clip(path), clip(tool))))
		return "", false
	}
	g.declared[key] = true
	return path, true
}

func (g *guards) pattern(at *field.Path, pattern string, kind plan.DataType) {
	if pattern == "" {
		return
	}
	if kind != plan.TypeString && kind != plan.TypeIdentifier {
		g.add(field.Invalid(at, clip(pattern), "a pattern needs type string or identifier"))
	}
	if len(pattern) > maxPattern {
		g.add(field.TooLong(at, "", maxPattern))
		return
	}
	// Read alone, a pattern cannot reach out of the group that it is put into to
	// match the whole string.
	if _, err := regexp.Compile(pattern); err != nil {
		g.add(field.Invalid(at, clip(pattern), "is no regular expression in RE2 syntax: "+regexpProblem(err)))
	}
}

// regexpProblem says what is wrong with an expression without repeating it.
func regexpProblem(err error) string {
	text := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
	if what, _, ok := strings.Cut(text, ": `"); ok {
		return what
	}
	return text
}

// complete adds what is known about a tool that the hook guards, unless the
// policy gave data for it or has declared the argument itself.
func (g *guards) complete(at *field.Path, f founding) {
	guard := g.byTool[f.tool]
	if guard == nil || len(guard.Data) > 0 {
		return
	}
	for _, path := range f.arguments {
		if !g.declared[v1alpha1.Argument{Tool: f.tool, Path: path}] {
			g.judge(at, f.tool, path)
		}
	}
	for i := range f.data {
		if !g.declared[f.data[i].Argument] {
			g.datum(at, &f.data[i])
		}
	}
}
