package policy

import (
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
	workingDirectory := p.WorkingDirectory
	if workingDirectory != "" {
		workingDirectory = c.directory(at.Child("workingDirectory"), workingDirectory)
	}
	if p.Resolve == v1alpha1.ResolveLexical {
		c.warn(at.Child("resolve"), "with Lexical, symbolic links are not seen: one beneath a root can lead anywhere")
	}
	roots := c.roots(at, p.Roots, workingDirectory)
	resolve := choose(c, at.Child("resolve"), p.Resolve, plan.ResolveService, plan.ResolveAgent, plan.ResolveLexical)
	if p.Resolve == "" && slices.ContainsFunc(roots, c.isHidden) {
		resolve = plan.ResolveAgent
	}
	out.PathAllowlist = &plan.PathAllowlist{Roots: roots, WorkingDirectory: workingDirectory, Resolve: resolve}
}

// isHidden reports whether the deciding service is known not to see a root.
func (c *compiler) isHidden(root string) bool {
	return slices.ContainsFunc(c.views, func(sees View) bool { return !sees(root) })
}

// roots are those of the policy, else the tenant's data directory and the
// working directory.
func (c *compiler) roots(at *field.Path, given []string, workingDirectory string) []string {
	rootsAt := at.Child("roots")
	if len(given) > maxRoots {
		c.add(field.TooMany(rootsAt, len(given), maxRoots))
		return nil
	}
	c.unique(rootsAt, given)
	var roots []string
	for i, root := range given {
		roots = append(roots, c.directory(rootsAt.Index(i), root))
	}
	if len(roots) == 0 {
		roots = c.foundingRoots(rootsAt, workingDirectory)
	} else if wd := workingDirectory; wd != "" && !slices.ContainsFunc(roots, func(root string) bool { return beneath(wd, root) }) {
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

// directory returns a directory's one name: without a slash at its end, doubled
// slashes, . and .. It reports what cannot be a root: a name that is relative, or
// one that leads to everything.
func (c *compiler) directory(at *field.Path, dir string) string {
	switch {
	case len(dir) > maxRootBytes:
		c.add(field.TooLong(at, "", maxRootBytes))
	case hasInvisible(dir) || dir != strings.TrimSpace(dir):
		c.add(field.Invalid(at, clip(dir), "must not hold control or invisible characters, or white space at an end"))
	case !path.IsAbs(dir):
		c.add(field.Invalid(at, clip(dir), "must be an absolute path, such as /data/customer-a"))
	case path.Clean(dir) == "/":
		c.add(field.Invalid(at, clip(dir), "must not be / itself: that would allow every path"))
	case beneath(path.Clean(dir), "/proc") || beneath(path.Clean(dir), "/sys") || beneath(path.Clean(dir), "/dev"):
		c.add(field.Invalid(at, clip(dir), "must not lie beneath /proc, /sys or /dev: paths there lead elsewhere"))
	}
	if slices.Contains(strings.Split(dir, "/"), "..") {
		c.warn(at, "is taken for "+clip(path.Clean(dir))+": write it so")
	}
	return path.Clean(dir)
}

// beneath reports whether a clean path is the root or lies beneath it.
func beneath(dir, root string) bool {
	rest, ok := strings.CutPrefix(dir, root)
	return ok && (rest == "" || rest[0] == '/')
}
