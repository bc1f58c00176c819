package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/plan"
)

// Compile turns a HookPolicy into the segment of its tenant. It returns either
// a segment or every problem of the policy. Warnings are about what is allowed
// and unwise; they come with a segment and without.
//
// A view, if one is given, says which roots the deciding service sees: paths
// beneath others are then resolved by the enforcement point, where the policy
// does not say who resolves them. Without one the service is taken to see all.
func Compile(hp *v1alpha1.HookPolicy, view ...View) (*plan.Segment, []string, field.ErrorList) {
	c := &compiler{views: view, namespace: hp.Namespace}
	c.metadata(&hp.ObjectMeta)
	spec, at := &hp.Spec, field.NewPath("spec")

	seg := &plan.Segment{
		Source:          source(&hp.ObjectMeta),
		ServiceAccounts: c.serviceAccounts(at.Child("agents", "serviceAccounts"), spec.Agents.ServiceAccounts),
		Enforcement:     choose(c, at.Child("enforcement"), spec.Enforcement, plan.Enforce, plan.DryRun, plan.Off),
		Context:         c.context(at.Child("context"), spec.Context),
		UnlistedTools:   choose(c, at.Child("unlistedTools"), spec.UnlistedTools, plan.VerdictAllow, plan.VerdictAsk, plan.VerdictDeny),
		Approvals:       c.approvals(at.Child("approvals"), spec.Approvals.ApprovalTerms),
		Audit:           c.audit(at.Child("audit"), spec.Audit.ClusterAudit),
	}
	seg.Approvals.Consent = choose(c, at.Child("approvals", "consent"), spec.Approvals.Consent, plan.ConsentHuman, plan.ConsentAgent)
	seg.Audit.OnFailure = choose(c, at.Child("audit", "onFailure"), spec.Audit.OnFailure, plan.VerdictDeny, plan.VerdictAllow)
	if seg.Approvals.Consent == plan.ConsentAgent {
		c.warn(at.Child("approvals", "consent"), "with Agent, a model can consent to its own calls: it only has to send confirm_destructive, even the first time")
	}
	switch hooks := spec.Hooks; {
	case hooks == nil:
		seg.Hooks = c.hooks(at.Child("hooks"), foundingHooks())
	case len(hooks) == 0:
		c.add(field.Invalid(at.Child("hooks"), "[]", "must not be an empty list: leave it out for the built-in hooks, or set enforcement to Off"))
	default:
		seg.Hooks = c.hooks(at.Child("hooks"), hooks)
	}
	return c.result(seg)
}

// CompileCluster turns a ClusterHookPolicy into a segment of the baseline, in
// the manner of Compile. A baseline always enforces, lets unlisted tools pass
// to the tenant's hooks, and takes no consent but a person's. The views are those
// of the services that decide by it, as in Compile.
func CompileCluster(chp *v1alpha1.ClusterHookPolicy, views ...View) (*plan.Segment, []string, field.ErrorList) {
	c := &compiler{cluster: true, views: views}
	c.metadata(&chp.ObjectMeta)
	spec, at := &chp.Spec, field.NewPath("spec")

	seg := &plan.Segment{
		Source:        source(&chp.ObjectMeta),
		Enforcement:   plan.Enforce,
		Context:       c.context(at.Child("context"), spec.Context),
		UnlistedTools: plan.VerdictAllow,
		Approvals:     c.approvals(at.Child("approvals"), spec.Approvals),
		Audit:         c.audit(at.Child("audit"), spec.Audit),
	}
	seg.Source.Priority = c.bounded(at.Child("priority"), spec.Priority, 0, -maxPriority, maxPriority)
	seg.Approvals.Consent = plan.ConsentHuman
	seg.Audit.OnFailure = plan.VerdictDeny
	if len(spec.Hooks) == 0 {
		c.add(field.Required(at.Child("hooks"), "a ClusterHookPolicy lists its hooks: delete it if it has none"))
	}
	seg.Hooks = c.hooks(at.Child("hooks"), spec.Hooks)
	return c.result(seg)
}

// A View says of a root whether a decision service sees it.
type View func(root string) bool

// Sees is the view of a service that sees what lies beneath some paths. They need
// not be clean: a mount may be written with a slash at its end.
func Sees(paths []string) View {
	clean := make([]string, len(paths))
	for i, p := range paths {
		clean[i] = path.Clean(p)
	}
	return func(root string) bool {
		return slices.ContainsFunc(clean, func(p string) bool { return beneath(root, p) })
	}
}

// A compiler collects the problems of one policy.
type compiler struct {
	views     []View
	cluster   bool   // a ClusterHookPolicy
	namespace string // of a HookPolicy
	errs      field.ErrorList
	warnings  []string
}

func (c *compiler) add(err *field.Error) { c.errs = append(c.errs, err) }

func (c *compiler) warn(at *field.Path, text string) {
	c.warnings = append(c.warnings, fmt.Sprintf("%s: %s", at, text))
}

func (c *compiler) result(seg *plan.Segment) (*plan.Segment, []string, field.ErrorList) {
	if len(c.errs) > 0 {
		return nil, c.warnings, c.errs
	}
	return seg, c.warnings, nil
}

// metadata checks the object's name and namespace: they become parts of
// paths and of the names of audit chains.
func (c *compiler) metadata(m *metav1.ObjectMeta) {
	errs := validation.ValidateObjectMeta(m, !c.cluster, validation.NameIsDNSSubdomain, field.NewPath("metadata"))
	for _, err := range errs {
		err.Detail, _, _ = strings.Cut(err.Detail, " (e.g. ") // an expression follows
	}
	c.errs = append(c.errs, errs...)
}

func source(m *metav1.ObjectMeta) plan.Source {
	return plan.Source{
		Namespace:  m.Namespace,
		Name:       m.Name,
		UID:        string(m.UID),
		Generation: m.Generation,
		Created:    m.CreationTimestamp.Time,
	}
}

func (c *compiler) serviceAccounts(at *field.Path, names []string) []string {
	c.unique(at, names)
	for i, name := range names {
		if len(validation.ValidateServiceAccountName(name, false)) > 0 {
			c.add(field.Invalid(at.Index(i), clip(name), "must be the name of a ServiceAccount: lower-case letters, digits, hyphens and dots"))
		}
	}
	return sorted(names)
}

func (c *compiler) context(at *field.Path, ctx v1alpha1.Context) plan.Context {
	c.visible(at.Child("environment"), ctx.Environment)
	c.visible(at.Child("projectKind"), ctx.ProjectKind)
	c.visible(at.Child("branch"), ctx.Branch)
	return plan.Context{Environment: ctx.Environment, ProjectKind: ctx.ProjectKind, Branch: ctx.Branch}
}

func (c *compiler) approvals(at *field.Path, a v1alpha1.ApprovalTerms) plan.Approvals {
	timeouts := at.Child("timeoutSeconds")
	return plan.Approvals{
		TimeoutHighSeconds:   c.bounded(timeouts.Child("high"), a.TimeoutSeconds.High, 300, 1, maxSeconds),
		TimeoutMediumSeconds: c.bounded(timeouts.Child("medium"), a.TimeoutSeconds.Medium, 300, 1, maxSeconds),
		UseWithinSeconds:     c.bounded(at.Child("useWithinSeconds"), a.UseWithinSeconds, 300, 1, maxSeconds),
		MinimumApprovers:     c.bounded(at.Child("approvers", "minimum"), a.Approvers.Minimum, 1, 1, 16),
		MaxPending:           c.bounded(at.Child("maxPending"), a.MaxPending, 20, 1, 1000),
	}
}

func (c *compiler) audit(at *field.Path, a v1alpha1.ClusterAudit) plan.Audit {
	keys := at.Child("redact", "keys")
	c.unique(keys, a.Redact.Keys)
	for i, key := range a.Redact.Keys {
		if key == "" {
			c.add(field.Required(keys.Index(i), "the name of an argument"))
		}
	}
	return plan.Audit{RedactKeys: sorted(a.Redact.Keys)}
}

// sorted returns a sorted copy, nil for none, so that the order in which a set
// was written is no part of what it means.
func sorted(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	return slices.Sorted(slices.Values(list))
}
