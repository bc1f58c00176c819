package policy

import "strings"

// An InvalidError says everything that is wrong with a set of policy files.
type InvalidError struct {
	Problems []Problem
}

// Error returns one line for each problem.
func (e *InvalidError) Error() string {
	lines := make([]string, len(e.Problems))
	for i := range e.Problems {
		lines[i] = e.Problems[i].Error()
	}
	return strings.Join(lines, "\n")
}

// A Problem is one thing that is wrong with a policy file.
type Problem struct { //nolint:errname // it is a part of an InvalidError and told with it
	File string
	// Object is the kind and name of the object, such as "HookPolicy
	// customer-a/strict", or its place in the file if it has none. Empty when the
	// problem is the file's.
	Object string
	// Err is a *field.Error, with the path of the field, where one is to blame.
	Err error
}

// Error returns "file: object: what is wrong".
func (p *Problem) Error() string {
	if p.Object == "" {
		return p.File + ": " + p.Err.Error()
	}
	return p.File + ": " + p.Object + ": " + p.Err.Error()
}

// Unwrap returns Err.
func (p *Problem) Unwrap() error { return p.Err }
