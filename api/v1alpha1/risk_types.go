package v1alpha1

// RiskLevel ranks what a call could do.
// +kubebuilder:validation:Enum=Low;Medium;High
type RiskLevel string

// The levels of risk.
const (
	RiskLow    RiskLevel = "Low"
	RiskMedium RiskLevel = "Medium"
	RiskHigh   RiskLevel = "High"
)

// RiskBaseline is a set of defaults for a kind of project.
// +kubebuilder:validation:Enum=personal-learning;team-project;production-service;open-source
type RiskBaseline string

// The baselines.
const (
	// BaselinePersonalLearning: Medium is the default, and passes.
	BaselinePersonalLearning RiskBaseline = "personal-learning"
	// BaselineTeamProject: Medium is the default, and asks.
	BaselineTeamProject RiskBaseline = "team-project"
	// BaselineProductionService: High is the default.
	BaselineProductionService RiskBaseline = "production-service"
	// BaselineOpenSource: Medium is the default, and passes.
	BaselineOpenSource RiskBaseline = "open-source"
)

// MediumAnswer answers calls of medium risk.
// +kubebuilder:validation:Enum=Ask;Allow
type MediumAnswer string

// The answers to calls of medium risk.
const (
	MediumAsk   MediumAnswer = "Ask"
	MediumAllow MediumAnswer = "Allow"
)

// Risk ranks every call. High asks a person, Low passes, Medium does what medium
// says. What the policy's context says, and sensitive words in the arguments,
// raise a call's risk; nothing that a client says lowers it.
type Risk struct {
	// baseline gives default and medium their defaults: team-project, if omitted.
	// +optional
	Baseline RiskBaseline `json:"baseline,omitempty"`

	// tools rank tools by name and arguments. Of several that match a call the
	// highest level counts. Omitted: usual names of tools that delete, run, fetch,
	// write, read and search.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Tools []RiskRule `json:"tools,omitempty"`

	// default is the level of a call that no rule matches.
	// +optional
	Default RiskLevel `json:"default,omitempty"`

	// medium answers calls of medium risk.
	// +optional
	Medium MediumAnswer `json:"medium,omitempty"`

	// sensitiveWords raise a call's risk by one level where they stand in a text of
	// its arguments as words. Omitted: prod, production, --force, -rf, and a few
	// more. An empty list means none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=64
	SensitiveWords *[]string `json:"sensitiveWords,omitempty"`
}

// RiskRule ranks some calls.
type RiskRule struct {
	// match is the name of a tool, also behind an MCP prefix; * stands for any
	// characters. Letters match in both cases.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule=`self.matches('^[^\\s\\p{Z}\\p{C}?]*$')`,message="must be the name of a tool, in which * may stand for any characters"
	Match string `json:"match,omitempty"`

	// arguments narrow the rule to calls in which all of these hold.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Arguments []RiskCondition `json:"arguments,omitempty"`

	// level of the calls.
	// +required
	Level RiskLevel `json:"level,omitempty"`
}

// RiskCondition holds where some value at a place in the arguments is one of a
// list, or matches a pattern.
// +kubebuilder:validation:ExactlyOneOf=values;matches
type RiskCondition struct {
	// path is where the argument stands, as in other hooks.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Path string `json:"path,omitempty"`

	// values are those of which some value must be one, as text.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=1024
	Values []string `json:"values,omitempty"`

	// matches is a regular expression in RE2 syntax that the whole text must match.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Matches string `json:"matches,omitempty"`
}
