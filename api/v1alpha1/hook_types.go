package v1alpha1

import "k8s.io/apimachinery/pkg/runtime"

// FailurePolicy says what it means when a hook fails or runs out of time.
// +kubebuilder:validation:Enum=Fail;Ignore
type FailurePolicy string

// The failure policies.
const (
	// FailurePolicyFail denies the call.
	FailurePolicyFail FailurePolicy = "Fail"
	// FailurePolicyIgnore records the failure and moves on to the next hook.
	FailurePolicyIgnore FailurePolicy = "Ignore"
)

// Hook is one step of a policy; exactly one of its kinds is set.
// +kubebuilder:validation:ExactlyOneOf=pathAllowlist;destructiveSQL;rewrite;risk
type Hook struct {
	// name tells the hook apart from the policy's others, in records and messages.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Label().validate(self).hasValue()",message="must be lower-case letters, digits and hyphens, and must start and end with a letter or digit"
	Name string `json:"name,omitempty"`

	// failurePolicy says what it means when the hook fails or runs out of time:
	// Fail denies the call, Ignore records the failure and moves on.
	// +optional
	// +kubebuilder:default=Fail
	FailurePolicy FailurePolicy `json:"failurePolicy,omitempty"`

	// timeoutMilliseconds is the time that the hook has for one decision.
	// +optional
	// +kubebuilder:default=1000
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=30000
	TimeoutMilliseconds int32 `json:"timeoutMilliseconds,omitempty"`

	// pathAllowlist keeps the paths that tools are given beneath roots.
	// +optional
	PathAllowlist *PathAllowlist `json:"pathAllowlist,omitempty"`

	// destructiveSQL judges SQL text by what it would do.
	// +optional
	DestructiveSQL *DestructiveSQL `json:"destructiveSQL,omitempty"`

	// rewrite changes the arguments of a call.
	// +optional
	Rewrite *Rewrite `json:"rewrite,omitempty"`

	// risk ranks every call, and asks a person about the risky ones.
	// +optional
	Risk *Risk `json:"risk,omitempty"`
}

// Argument names one argument of one tool.
type Argument struct {
	// tool is the exact name of the tool, at most 128 bytes.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule=`self.matches('^[^\\s\\p{Z}\\p{C}*?]*$')`,message="must be the exact name of a tool, without white space, control characters or wildcards"
	Tool string `json:"tool,omitempty"`

	// path is where the argument stands: a name, or names with dots between them;
	// [*] after a name stands for every element of a list.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Path string `json:"path,omitempty"`
}

// DataType bounds what an argument that is mere data may be.
// +kubebuilder:validation:Enum=any;string;boolean;integer;number;identifier
type DataType string

// The types of data. An identifier is a string of letters, digits and
// underscores that starts with no digit, up to 63 bytes, with dots between
// parts.
const (
	DataTypeAny        DataType = "any"
	DataTypeString     DataType = "string"
	DataTypeBoolean    DataType = "boolean"
	DataTypeInteger    DataType = "integer"
	DataTypeNumber     DataType = "number"
	DataTypeIdentifier DataType = "identifier"
)

// Datum names one argument that is data and is not judged.
// +kubebuilder:validation:XValidation:rule="!has(self.pattern) || self.type in ['string', 'identifier']",message="pattern needs type string or identifier"
type Datum struct {
	Argument `json:",inline"`

	// type bounds what the argument may be.
	// +optional
	// +kubebuilder:default=any
	Type DataType `json:"type,omitempty"`

	// pattern is a regular expression in RE2 syntax that the whole string must
	// match.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Pattern string `json:"pattern,omitempty"`
}

// UndeclaredArguments answers a call of a guarded tool that carries an argument
// that no hook declares.
// +kubebuilder:validation:Enum=Deny;Allow
type UndeclaredArguments string

// The answers to undeclared arguments.
const (
	UndeclaredArgumentsDeny  UndeclaredArguments = "Deny"
	UndeclaredArgumentsAllow UndeclaredArguments = "Allow"
)

// Declarations say which arguments of the guarded tools a hook judges and which
// are mere data, so that no other argument can carry what was to be judged.
type Declarations struct {
	// arguments are the ones that the hook judges. Omitted: those of the tools
	// that this kind of hook was made for.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Arguments []Argument `json:"arguments,omitempty"`

	// data are the ones that are not judged. A tool that this kind of hook was
	// made for has its usual ones when none is given for it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Data []Datum `json:"data,omitempty"`

	// undeclaredArguments answers a call that carries any other argument.
	// +optional
	// +kubebuilder:default=Deny
	UndeclaredArguments UndeclaredArguments `json:"undeclaredArguments,omitempty"`
}

// Resolve says who resolves the symbolic links of a path.
// +kubebuilder:validation:Enum=Service;Agent;Lexical
type Resolve string

// The ways to resolve a path.
const (
	// ResolveService: the decision service, on volumes that it sees.
	ResolveService Resolve = "Service"
	// ResolveAgent: the enforcement point, which sends its result with the call.
	ResolveAgent Resolve = "Agent"
	// ResolveLexical: nobody; the path is cleaned and links are not seen.
	ResolveLexical Resolve = "Lexical"
)

// PathAllowlist keeps the paths that tools are given beneath roots.
type PathAllowlist struct {
	Declarations `json:",inline"`

	// roots are the directories that paths must lie beneath. Omitted:
	// /data/<namespace> of the policy, and workingDirectory when it is given.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=1024
	// +kubebuilder:validation:items:XValidation:rule="self.startsWith('/') && self != '/'",message="must be an absolute path, and not / itself"
	Roots []string `json:"roots,omitempty"`

	// workingDirectory is what relative paths are relative to. Omitted: relative
	// paths are denied.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.startsWith('/') && self != '/'",message="must be an absolute path, and not / itself"
	WorkingDirectory string `json:"workingDirectory,omitempty"`

	// resolve says who resolves symbolic links: Service for the decision service,
	// which must see the roots; Agent for the caller, which sends what it found;
	// Lexical for nobody. Omitted: Service where the decision service sees all of
	// the roots, else Agent.
	// +optional
	Resolve Resolve `json:"resolve,omitempty"`
}

// Decision is what a policy decides where it overrides a built-in answer.
// +kubebuilder:validation:Enum=Allow;AskUser;Deny
type Decision string

// The decisions.
const (
	DecisionAllow   Decision = "Allow"
	DecisionAskUser Decision = "AskUser"
	DecisionDeny    Decision = "Deny"
)

// UnknownFunctions answers SQL that calls a function that no catalogue names.
// +kubebuilder:validation:Enum=Ask;Allow;Deny
type UnknownFunctions string

// The answers to an unknown function.
const (
	UnknownFunctionsAsk   UnknownFunctions = "Ask"
	UnknownFunctionsAllow UnknownFunctions = "Allow"
	UnknownFunctionsDeny  UnknownFunctions = "Deny"
)

// DestructiveSQL judges SQL text by what it would do, with PostgreSQL's grammar.
type DestructiveSQL struct {
	Declarations `json:",inline"`

	// maxBytes is the longest text that is judged; a longer one is denied.
	// +optional
	// +kubebuilder:default=16384
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=32768
	MaxBytes int32 `json:"maxBytes,omitempty"`

	// dialect is the database whose SQL is judged.
	// +optional
	// +kubebuilder:default=postgres
	Dialect SQLDialect `json:"dialect,omitempty"`

	// unknownFunctions answers text that calls a function that is neither the
	// server's own nor listed in functions.
	// +optional
	// +kubebuilder:default=Ask
	UnknownFunctions UnknownFunctions `json:"unknownFunctions,omitempty"`

	// functions say what functions do that are not the server's own, such as
	// PostGIS's. An exact name counts before a pattern, then the stricter class.
	// A function that is known to do more than it says here stays what it is.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=256
	Functions []SQLFunction `json:"functions,omitempty"`

	// tables bound the tables that a text may name, to read or to change. Omitted:
	// any.
	// +optional
	Tables *SQLTables `json:"tables,omitempty"`

	// requireWhere lists the statements that are denied without a condition that
	// chooses rows; one that is always true, such as 1 = 1, is none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=2
	RequireWhere []WhereStatement `json:"requireWhere,omitempty"`

	// overrides change the answer to a class or a kind of statement: they loosen
	// AskUser to Allow or tighten anything, and never loosen Deny.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Overrides []Override `json:"overrides,omitempty"`
}

// SQLDialect names a database whose SQL is judged.
// +kubebuilder:validation:Enum=postgres
type SQLDialect string

// The dialects.
const (
	// SQLDialectPostgres: with PostgreSQL's own grammar, of version 16.
	SQLDialectPostgres SQLDialect = "postgres"
)

// WhereStatement is a kind of statement that needs a condition.
// +kubebuilder:validation:Enum=Update;Delete
type WhereStatement string

// The statements. A MERGE that updates or deletes counts as both.
const (
	WhereStatementUpdate WhereStatement = "Update"
	WhereStatementDelete WhereStatement = "Delete"
)

// SQLFunction says what functions of a name do.
type SQLFunction struct {
	// name is the name of a function as SQL has it, with its schema or without: in
	// double quotes it counts letter by letter, else in lower case; a * outside of
	// quotes stands for any letters, as in st_*. Without a schema it is found in the
	// search path of tables.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name,omitempty"`

	// class is what calling such a function amounts to.
	// +required
	Class StatementClass `json:"class,omitempty"`
}

// SQLTables bound the tables, views and sequences that a text may name.
// +kubebuilder:validation:XValidation:rule="has(self.allow) || has(self.deny)",message="tables need allow, deny or both"
type SQLTables struct {
	// allow lists the ones that may be named, as SQL writes names, with a schema or
	// without; a * outside of double quotes stands for any letters, as in sales.*.
	// Omitted: all that deny does not list.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Allow []string `json:"allow,omitempty"`

	// deny lists the ones that may not be named, and wins over allow.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Deny []string `json:"deny,omitempty"`

	// searchPath lists the schemas in which names without a schema may lie, as the
	// agent's database role has them. pg_catalog comes before them. A name must be
	// allowed in each. Omitted: public.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	SearchPath []string `json:"searchPath,omitempty"`
}

// StatementClass is a class of SQL statements.
// +kubebuilder:validation:Enum=read;write;destructive;admin;forbidden
type StatementClass string

// Override changes the answer to a class or to a kind of statement.
// +kubebuilder:validation:ExactlyOneOf=class;statement
type Override struct {
	// class is the class of statements that the override is for.
	// +optional
	Class StatementClass `json:"class,omitempty"`

	// statement is the kind of statement that the override is for, by the name of
	// its node in PostgreSQL's grammar, such as InsertStmt.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Statement string `json:"statement,omitempty"`

	// decision is the answer.
	// +required
	Decision Decision `json:"decision,omitempty"`
}

// Rewrite changes the arguments of a call.
// +kubebuilder:validation:XValidation:rule="has(self.set) || has(self.remove) || has(self.sqlLimit)",message="rewrite needs set, remove or sqlLimit"
type Rewrite struct {
	// tools are the exact names of the tools whose calls are rewritten.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=128
	// +kubebuilder:validation:items:XValidation:rule=`self.matches('^[^\\s\\p{Z}\\p{C}*?]*$')`,message="must be the exact name of a tool, without white space, control characters or wildcards"
	Tools []string `json:"tools,omitempty"`

	// set maps argument paths to the JSON values that they get.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=64
	Set *runtime.RawExtension `json:"set,omitempty"`

	// sqlLimit bounds the rows that queries in an argument give.
	// +optional
	SQLLimit *SQLLimit `json:"sqlLimit,omitempty"`

	// remove lists the argument paths that are taken away.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Remove []string `json:"remove,omitempty"`
}

// SQLLimit bounds the rows that SQL queries give, by a LIMIT that is put into
// them. A text that gives no more as it is stays as it is; one into which no
// LIMIT can be put without a change of what it does is denied.
type SQLLimit struct {
	// path is where the SQL text stands in the arguments: a name, or names with
	// dots between them; [*] after a name stands for every element of a list.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Path string `json:"path,omitempty"`

	// max is how many rows a query may give.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	Max int32 `json:"max,omitempty"`
}
