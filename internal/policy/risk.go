package policy

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/plan"
)

// The bounds of a risk hook.
const (
	maxRiskRules      = 64
	maxRiskConditions = 16
	maxRiskValues     = 64
	maxSensitiveWords = 64
	maxSensitiveBytes = 64
)

// A riskDefault is what a baseline says where the policy does not.
type riskDefault struct {
	level  v1alpha1.RiskLevel
	medium v1alpha1.MediumAnswer
}

// riskDefaults are the baselines of the founding study.
func riskDefaults() map[v1alpha1.RiskBaseline]riskDefault {
	return map[v1alpha1.RiskBaseline]riskDefault{
		v1alpha1.BaselinePersonalLearning:  {v1alpha1.RiskMedium, v1alpha1.MediumAllow},
		v1alpha1.BaselineTeamProject:       {v1alpha1.RiskMedium, v1alpha1.MediumAsk},
		v1alpha1.BaselineProductionService: {v1alpha1.RiskHigh, v1alpha1.MediumAsk},
		v1alpha1.BaselineOpenSource:        {v1alpha1.RiskMedium, v1alpha1.MediumAllow},
	}
}

// foundingRules rank tools by the verbs in their usual names: what deletes, runs,
// configures or reaches out is High, what writes is Medium, what reads is Low.
func foundingRules() []v1alpha1.RiskRule {
	var rules []v1alpha1.RiskRule
	for _, group := range []struct {
		level v1alpha1.RiskLevel
		verbs string
	}{
		{v1alpha1.RiskHigh, "delete remove drop purge destroy bash shell exec command run http fetch request configure"},
		{v1alpha1.RiskMedium, "write edit create update insert install upload push commit move rename deploy add send"},
		{v1alpha1.RiskLow, "read get list search find query describe show view"},
	} {
		for verb := range strings.FieldsSeq(group.verbs) {
			for _, match := range []string{verb, verb + "_*", "*_" + verb, "*_" + verb + "_*"} {
				rules = append(rules, v1alpha1.RiskRule{Match: match, Level: group.level})
			}
		}
	}
	return rules
}

// foundingWords raise a call's risk where a policy lists none.
func foundingWords() []string {
	return []string{"--force", "--hard", "--no-verify", "-rf", "-fr", "prod", "production"}
}

func (c *compiler) risk(at *field.Path, r *v1alpha1.Risk, out *plan.Hook) {
	out.Kind, out.AllTools = plan.KindRisk, true
	baseline := cmp.Or(r.Baseline, v1alpha1.BaselineTeamProject)
	defaults, ok := riskDefaults()[baseline]
	if !ok {
		c.add(field.NotSupported(at.Child("baseline"), clip(string(r.Baseline)), slices.Sorted(maps.Keys(riskDefaults()))))
		return
	}
	rules := r.Tools
	if rules == nil {
		rules = foundingRules()
	}
	if r.Tools != nil && (len(rules) == 0 || len(rules) > maxRiskRules) {
		c.add(field.Invalid(at.Child("tools"), len(rules), "must be 1 to 64 rules: leave it out for the usual names"))
		return
	}
	out.Risk = &plan.Risk{
		Default: choose(c, at.Child("default"), cmp.Or(r.Default, defaults.level), plan.RiskLow, plan.RiskMedium, plan.RiskHigh),
		Medium:  choose(c, at.Child("medium"), cmp.Or(r.Medium, defaults.medium), plan.VerdictAsk, plan.VerdictAllow),
	}
	for i := range rules {
		rule := c.riskRule(at.Child("tools").Index(i), &rules[i])
		out.Risk.Rules = append(out.Risk.Rules, rule)
		if r.Tools != nil { // the usual names make no tool a known one
			out.Patterns = append(out.Patterns, rule.Match)
		}
	}
	out.Patterns = sorted(out.Patterns)
	out.Risk.SensitiveWords = c.sensitiveWords(at.Child("sensitiveWords"), r.SensitiveWords)
}

func (c *compiler) riskRule(at *field.Path, r *v1alpha1.RiskRule) plan.RiskRule {
	switch {
	case r.Match == "":
		c.add(field.Required(at.Child("match"), "the name of a tool, in which * may stand for any characters"))
	case len(r.Match) > maxTool:
		c.add(field.TooLong(at.Child("match"), "", maxTool))
	case hasInvisible(r.Match) || strings.ContainsFunc(r.Match, unicode.IsSpace) || strings.Contains(r.Match, "?"):
		c.add(field.Invalid(at.Child("match"), clip(r.Match), "must be the name of a tool, in which * may stand for any characters"))
	}
	if r.Level == "" {
		c.add(field.Required(at.Child("level"), "Low, Medium or High"))
	}
	rule := plan.RiskRule{
		Match: strings.ToLower(r.Match),
		Level: choose(c, at.Child("level"), r.Level, plan.RiskHigh, plan.RiskMedium, plan.RiskLow),
	}
	if len(r.Arguments) > maxRiskConditions {
		c.add(field.TooMany(at.Child("arguments"), len(r.Arguments), maxRiskConditions))
		return rule
	}
	for i := range r.Arguments {
		rule.Conditions = append(rule.Conditions, c.riskCondition(at.Child("arguments").Index(i), &r.Arguments[i]))
	}
	return rule
}

func (c *compiler) riskCondition(at *field.Path, k *v1alpha1.RiskCondition) plan.RiskCondition {
	out := plan.RiskCondition{Path: c.argument(at.Child("path"), k.Path), Values: sorted(k.Values), Matches: k.Matches}
	switch {
	case (len(k.Values) > 0) == (k.Matches != ""):
		c.add(field.Invalid(at, field.OmitValueType{}, "needs one of values and matches"))
	case len(k.Values) > maxRiskValues:
		c.add(field.TooMany(at.Child("values"), len(k.Values), maxRiskValues))
	case k.Matches != "":
		if _, err := regexp.Compile(k.Matches); err != nil { // by itself: a bracket in it must not close ours
			c.add(field.Invalid(at.Child("matches"), clip(k.Matches), "is no regular expression in RE2 syntax: "+regexpProblem(err)))
		}
	}
	return out
}

func (c *compiler) sensitiveWords(at *field.Path, given *[]string) []string {
	if given == nil {
		return sorted(foundingWords())
	}
	if len(*given) > maxSensitiveWords {
		c.add(field.TooMany(at, len(*given), maxSensitiveWords))
		return nil
	}
	var words []string
	for i, w := range *given {
		if w == "" || len(w) > maxSensitiveBytes || hasInvisible(w) || strings.ContainsFunc(w, unicode.IsSpace) {
			c.add(field.Invalid(at.Index(i), clip(w), "must be one word, of at most 64 bytes"))
		}
		words = append(words, strings.ToLower(w))
	}
	return sorted(words)
}
