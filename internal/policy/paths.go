package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/plan"
)

const (
	maxRoots     = 32
	maxRootBytes = 1024
)

func (c *compiler) pathAllowlist(at *field.Path, p *v1alpha1.PathAllowlist, out *plan.Hook) {
	out.Kind = plan.KindPathAllowlist
	c.declarations(at, &p.Declarations, foundingPaths(), out)
	if p.WorkingDirectory != "" {
		c.directory(at.Child("workingDirectory"), p.WorkingDirectory)
	}
	if p.Resolve == v1alpha1.ResolveLexical {
		c.warn(at.Child("resolve"), "with Lexical, symbolic links are not seen: one beneath a root can lead anywhere")
	}
	roots := c.roots(at, p)
	resolve := choose(c, at.Child("resolve"), p.Resolve, plan.ResolveService, plan.ResolveAgent, plan.ResolveLexical)
	if p.Resolve == "" && slices.ContainsFunc(roots, c.isHidden) {
		resolve = plan.ResolveAgent
	}
	out.PathAllowlist = &plan.PathAllowlist{Roots: roots, WorkingDirectory: p.WorkingDirectory, Resolve: resolve}
}

// isHidden reports whether the deciding service is known not to see a root.
func (c *compiler) isHidden(root string) bool {
	return slices.ContainsFunc(c.views, func(sees View) bool { return !sees(root) })
}

// roots are those of the policy, else the tenant's data directory and the
// working directory.
func (c *compiler) roots(at *field.Path, p *v1alpha1.PathAllowlist) []string {
	rootsAt := at.Child("roots")
	if len(p.Roots) > maxRoots {
		c.add(field.TooMany(rootsAt, len(p.Roots), maxRoots))
		return nil
	}
	c.unique(rootsAt, p.Roots)
	for i, root := range p.Roots {
		c.directory(rootsAt.Index(i), root)
	}
	roots := slices.Clone(p.Roots)
	if len(roots) == 0 {
		roots = c.foundingRoots(rootsAt, p.WorkingDirectory)
	} else if wd := p.WorkingDirectory; wd != "" && !slices.ContainsFunc(roots, func(root string) bool { return beneath(wd, root) }) {
		c.warn(at.Child("workingDirectory"), "lies beneath none of the roots, so most relative paths will be denied")
	}
	slices.Sort(roots)
	return slices.Compact(roots)
}

func (c *compiler) foundingRoots(at *field.Path, workingDirectory string) []string {
	var roots []string
	if c.namespace != "" {
		roots = append(roots, dataDirectory+c.namespace)
	}
	if workingDirectory != "" {
		roots = append(roots, workingDirectory)
	}
	if len(roots) == 0 && c.cluster {
		c.add(field.Required(at, "a ClusterHookPolicy has no namespace whose data directory could be the root: list the roots"))
	}
	return roots
}

// directory reports what cannot be a root: a name that is relative, that other
// names would stand for too, or that leads to everything.
func (c *compiler) directory(at *field.Path, dir string) {
	switch {
	case len(dir) > maxRootBytes:
		c.add(field.TooLong(at, "", maxRootBytes))
	case hasInvisible(dir) || dir != strings.TrimSpace(dir):
		c.add(field.Invalid(at, clip(dir), "must not hold control or invisible characters, or white space at an end"))
	case !path.IsAbs(dir):
		c.add(field.Invalid(at, clip(dir), "must be an absolute path, such as /data/customer-a"))
	case path.Clean(dir) == "/":
		c.add(field.Invalid(at, clip(dir), "must not be / itself: that would allow every path"))
	case path.Clean(dir) != dir:
		c.add(field.Invalid(at, clip(dir), fmt.Sprintf("must be written without a slash at the end, doubled slashes, . and ..: %s", clip(path.Clean(dir)))))
	case beneath(dir, "/proc") || beneath(dir, "/sys") || beneath(dir, "/dev"):
		c.add(field.Invalid(at, clip(dir), "must not lie beneath /proc, /sys or /dev: paths there lead elsewhere"))
	}
}

// beneath reports whether a clean path is the root or lies beneath it.
func beneath(dir, root string) bool {
	rest, ok := strings.CutPrefix(dir, root)
	return ok && (rest == "" || rest[0] == '/')
}
