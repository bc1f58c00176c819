package policy

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/plan"
	"github.com/hookpolicy/hookpolicy/internal/plan/stmtclass"
)

const (
	defaultMaxBytes = 16 << 10
	maxMaxBytes     = 32 << 10
	maxOverrides    = 64
)

func (c *compiler) destructiveSQL(at *field.Path, s *v1alpha1.DestructiveSQL, out *plan.Hook) {
	out.Kind = plan.KindDestructiveSQL
	c.declarations(at, &s.Declarations, foundingSQL(), out)
	out.DestructiveSQL = &plan.DestructiveSQL{
		Dialect:          choose(c, at.Child("dialect"), s.Dialect, plan.DialectPostgres),
		MaxBytes:         c.bounded(at.Child("maxBytes"), s.MaxBytes, defaultMaxBytes, 1, maxMaxBytes),
		UnknownFunctions: choose(c, at.Child("unknownFunctions"), s.UnknownFunctions, plan.VerdictAsk, plan.VerdictAllow, plan.VerdictDeny),
		Functions:        c.sqlFunctions(at.Child("functions"), s.Functions),
		Tables:           c.sqlTables(at.Child("tables"), s.Tables),
		RequireWhere:     c.requireWhere(at.Child("requireWhere"), s.RequireWhere),
		Overrides:        c.overrides(at.Child("overrides"), s.Overrides),
	}
}

func (c *compiler) overrides(at *field.Path, overrides []v1alpha1.Override) []plan.Override {
	if len(overrides) > maxOverrides {
		c.add(field.TooMany(at, len(overrides), maxOverrides))
		return nil
	}
	var compiled []plan.Override
	seen := make(map[string]bool, len(overrides))
	for i := range overrides {
		o, oAt := &overrides[i], at.Index(i)
		out := plan.Override{Class: string(o.Class), Statement: o.Statement, Decision: c.decision(oAt.Child("decision"), o.Decision)}
		switch {
		case o.Class == "" && o.Statement == "":
			c.add(field.Required(oAt, "an override needs a class or a statement"))
		case o.Class != "" && o.Statement != "":
			c.add(field.Invalid(oAt, clip(o.Statement), "an override is for a class or for a statement: make one of each"))
		case o.Class != "":
			c.overrideClass(oAt, out)
		default:
			c.overrideStatement(oAt, out)
		}
		// No class is spelled as a statement, so one key serves both.
		if key := out.Class + out.Statement; seen[key] {
			c.add(field.Duplicate(oAt, clip(key)))
		} else {
			seen[key] = true
		}
		compiled = append(compiled, out)
	}
	return compiled
}

// decision reads the API's word, which is the wire's, into the plan's.
func (c *compiler) decision(at *field.Path, d v1alpha1.Decision) plan.Verdict {
	switch d {
	case v1alpha1.DecisionAllow:
		return plan.VerdictAllow
	case v1alpha1.DecisionAskUser:
		return plan.VerdictAsk
	case v1alpha1.DecisionDeny:
		return plan.VerdictDeny
	case "":
		c.add(field.Required(at, "one of Allow, AskUser and Deny"))
	default:
		c.add(field.NotSupported(at, clip(string(d)), []v1alpha1.Decision{v1alpha1.DecisionAllow, v1alpha1.DecisionAskUser, v1alpha1.DecisionDeny}))
	}
	return plan.VerdictDeny
}

func (c *compiler) overrideClass(at *field.Path, o plan.Override) {
	decision, ok := stmtclass.ClassDecision(o.Class)
	if !ok {
		c.add(field.NotSupported(at.Child("class"), clip(o.Class), stmtclass.Classes()))
		return
	}
	if decision == stmtclass.Deny && o.Decision != plan.VerdictDeny {
		c.add(field.Forbidden(at.Child("decision"), fmt.Sprintf("statements of class %s are denied, and no override loosens a Deny", o.Class)))
	}
}

func (c *compiler) overrideStatement(at *field.Path, o plan.Override) {
	class, decision, ok := stmtclass.Class(o.Statement)
	switch {
	case !ok:
		c.add(field.Invalid(at.Child("statement"), clip(o.Statement), "is no statement of PostgreSQL's grammar"+meant(o.Statement, stmtclass.Nodes())))
	case class == "" && decision == stmtclass.Inner:
		c.add(field.Invalid(at.Child("statement"), o.Statement, "only wraps other statements: name those"))
	case decision == stmtclass.Deny && o.Decision != plan.VerdictDeny:
		c.add(field.Forbidden(at.Child("decision"), fmt.Sprintf("%s is denied, and no override loosens a Deny", o.Statement)))
	}
}
