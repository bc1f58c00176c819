package policy

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/plan"
)

// The bounds of a policy's hooks.
const (
	maxHooks               = 64
	maxTimeoutMilliseconds = 30_000
	maxDeclarations        = 64
)

func (c *compiler) hooks(at *field.Path, hooks []v1alpha1.Hook) []plan.Hook {
	if len(hooks) > maxHooks {
		c.add(field.TooMany(at, len(hooks), maxHooks))
		return nil
	}
	compiled := make([]plan.Hook, 0, len(hooks))
	seen := make(map[string]bool, len(hooks))
	for i := range hooks {
		h, hookAt := &hooks[i], at.Index(i)
		if h.Name != "" && seen[h.Name] {
			c.add(field.Duplicate(hookAt.Child("name"), clip(h.Name)))
		}
		seen[h.Name] = true
		compiled = append(compiled, c.hook(hookAt, h))
	}
	return compiled
}

func (c *compiler) hook(at *field.Path, h *v1alpha1.Hook) plan.Hook {
	c.hookName(at.Child("name"), h.Name)
	out := plan.Hook{
		Name:                h.Name,
		FailurePolicy:       choose(c, at.Child("failurePolicy"), h.FailurePolicy, plan.FailureDeny, plan.FailureIgnore),
		TimeoutMilliseconds: c.bounded(at.Child("timeoutMilliseconds"), h.TimeoutMilliseconds, 1000, 1, maxTimeoutMilliseconds),
	}
	switch kinds := kindsOf(h); {
	case len(kinds) == 0:
		c.add(field.Required(at, "a hook needs one of pathAllowlist, destructiveSQL, rewrite and risk"))
	case len(kinds) > 1:
		c.add(field.Invalid(at, strings.Join(kinds, ", "), "a hook is of one kind only: make a hook of each"))
	case h.PathAllowlist != nil:
		c.pathAllowlist(at.Child("pathAllowlist"), h.PathAllowlist, &out)
	case h.DestructiveSQL != nil:
		c.destructiveSQL(at.Child("destructiveSQL"), h.DestructiveSQL, &out)
	case h.Rewrite != nil:
		c.rewrite(at.Child("rewrite"), h.Rewrite, &out)
	case h.Risk != nil:
		c.risk(at.Child("risk"), h.Risk, &out)
	}
	return out
}

func kindsOf(h *v1alpha1.Hook) []string {
	var kinds []string
	if h.PathAllowlist != nil {
		kinds = append(kinds, string(plan.KindPathAllowlist))
	}
	if h.DestructiveSQL != nil {
		kinds = append(kinds, string(plan.KindDestructiveSQL))
	}
	if h.Rewrite != nil {
		kinds = append(kinds, string(plan.KindRewrite))
	}
	if h.Risk != nil {
		kinds = append(kinds, string(plan.KindRisk))
	}
	return kinds
}

func (c *compiler) hookName(at *field.Path, name string) {
	if name == "" {
		c.add(field.Required(at, "a name that tells the hook apart from the others"))
		return
	}
	if len(validation.IsDNS1123Label(name)) > 0 {
		c.add(field.Invalid(at, clip(name), "must be at most 63 lower-case letters, digits and hyphens, and must start and end with a letter or digit"))
	}
}
