package policy

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/plan"
)

// maxFileBytes bounds one policy file; ten thousand policies take a fifth.
const maxFileBytes = 64 << 20

// An Object is one policy that a file holds and what it was compiled to. One of
// Policy and Cluster is set.
type Object struct {
	Policy   *v1alpha1.HookPolicy
	Cluster  *v1alpha1.ClusterHookPolicy
	Segment  *plan.Segment
	Warnings []string
}

// Parse reads the policies of one YAML file, which may hold several documents,
// with their defaults filled in. The name is for messages. The error is an
// *InvalidError with every problem of the file, unless the context ended.
func Parse(ctx context.Context, name string, data []byte) ([]Object, error) {
	p := &parser{file: name}
	var objects []Object
	if err := p.parse(ctx, data, func(_ string, o Object) { objects = append(objects, o) }); err != nil {
		return nil, err
	}
	if len(p.problems) > 0 {
		return nil, &InvalidError{Problems: p.problems}
	}
	return objects, nil
}

// A parser reads one file and collects its problems.
type parser struct {
	file     string
	problems []Problem
	toldAge  bool // that a creationTimestamp is ignored
}

func (p *parser) problem(object string, err error) {
	p.problems = append(p.problems, Problem{File: p.file, Object: object, Err: err})
}

// parse gives each sound policy to use, with its kind and name.
func (p *parser) parse(ctx context.Context, data []byte, use func(name string, o Object)) error {
	kinds, err := resources()
	if err != nil {
		return err
	}
	if len(data) > maxFileBytes {
		p.problem("", fmt.Errorf("is longer than %d MiB", maxFileBytes>>20))
		return nil
	}
	held := 0
	documents(data, func(index int, value any, err error) bool {
		if value != nil || err != nil { // else an empty document
			held++
			p.document(ctx, kinds, fmt.Sprintf("document %d", index), value, err, use)
		}
		return ctx.Err() == nil
	})
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("read %s: %w", p.file, err)
	}
	if held == 0 {
		p.problem("", errors.New("holds no policy"))
	}
	return nil
}

func (p *parser) document(ctx context.Context, kinds map[string]*resource, place string, value any, err error, use func(string, Object)) {
	if err != nil {
		p.problem(place, err)
		return
	}
	object, ok := value.(map[string]any)
	if !ok {
		p.problem(place, errors.New("must be an object with apiVersion, kind, metadata and spec"))
		return
	}
	name := objectName(object, place)
	r, errs := resourceOf(kinds, object)
	if r == nil {
		p.fields(name, errs)
		return
	}
	errs = metadata(object)
	aged := dropAge(object)
	name = objectName(object, place)
	errs = append(errs, unknown(nil, object, r.structural)...)
	errs = append(errs, r.admit(ctx, object)...)
	o, compileErrs := compileObject(object, r)
	if errs = merge(errs, compileErrs); len(errs) > 0 {
		p.fields(name, errs)
		return
	}
	if aged && !p.toldAge {
		p.toldAge = true
		o.Warnings = append(o.Warnings, "metadata.creationTimestamp: is ignored in files: of two policies for one caller the name decides, not the age")
	}
	use(name, o)
}

func (p *parser) fields(name string, errs field.ErrorList) {
	for _, err := range errs {
		p.problem(name, err)
	}
}
