package policy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hookpolicy/hookpolicy/internal/plan"
)

// Load reads the policies of all files, by their names, and returns the set
// that they make. The error is an *InvalidError with every problem of every
// file, unless the context ended; there is no set then, nothing is half
// applied. Warnings start with file and object.
func Load(ctx context.Context, files map[string][]byte) (*plan.Set, []string, error) {
	l := &loader{seen: make(map[plan.Source]string)}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := l.file(ctx, name, files[name]); err != nil {
			return nil, nil, err
		}
	}
	if len(files) == 0 {
		return nil, nil, errors.New("no policy file was given")
	}
	if len(l.problems) > 0 {
		return nil, l.warnings, &InvalidError{Problems: l.problems}
	}
	return plan.NewSet(l.baseline, l.tenants), l.warnings, nil
}

// A loader collects what the files hold.
type loader struct {
	baseline, tenants []*plan.Segment
	warnings          []string
	problems          []Problem
	seen              map[plan.Source]string // namespace and name only, to the file
}

func (l *loader) file(ctx context.Context, name string, data []byte) error {
	p := &parser{file: name}
	err := p.parse(ctx, data, func(object string, o Object) {
		key := plan.Source{Namespace: o.Segment.Source.Namespace, Name: o.Segment.Source.Name}
		if first, ok := l.seen[key]; ok {
			p.problem(object, fmt.Errorf("stands twice, first in %s", first))
			return
		}
		l.seen[key] = name
		for _, w := range o.Warnings {
			l.warnings = append(l.warnings, name+": "+object+": "+w)
		}
		if o.Segment.IsBaseline() {
			l.baseline = append(l.baseline, o.Segment)
		} else {
			l.tenants = append(l.tenants, o.Segment)
		}
	})
	l.problems = append(l.problems, p.problems...)
	return err
}
