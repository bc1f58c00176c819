package paths

import (
	"context"
	"errors"
	"io/fs"
)

// A service resolver looks at the file system that the decision service sees.
// It serves one decision, within which it resolves no root twice.
type service struct {
	places
	resolvedRoots [][]string // of places.roots, nil where one cannot be seen
	looked        bool
}

func (s *service) resolve(ctx context.Context, text string) (string, string, *refusal, error) {
	text, no := s.absolute(text)
	if no != nil {
		return "", "", no, nil
	}
	at, err := walk(ctx, text)
	switch {
	case ctx.Err() != nil:
		return "", "", nil, ctx.Err()
	case errors.Is(err, errPattern):
		return "", "", refusePattern(), nil
	case errors.Is(err, errSpecial):
		return "", "", refuseSpecial(), nil
	case err != nil:
		return "", "", &refusal{code: CodeUnresolved, rule: ruleOf(err), message: "path cannot be resolved"}, nil
	}
	resolved := join(at.names)
	if no := checkForm(resolved); no != nil {
		return "", "", no, nil // a link led to it
	}
	root, no, err := s.rootOf(ctx, at)
	return resolved, root, no, err
}

// rootOf finds the root that holds a place. A root whose names the walk has
// just passed, none of them a link, need not be resolved.
func (s *service) rootOf(ctx context.Context, at place) (string, *refusal, error) {
	for _, r := range s.roots {
		if !r.climbs && isWithin(at.names[:at.existing], r.names) {
			return r.text, nil, nil
		}
	}
	if err := s.lookAtRoots(ctx); err != nil {
		return "", nil, err
	}
	outside := refuse(CodeOutside, "path is outside the allowed directories")
	for i, names := range s.resolvedRoots {
		switch {
		case names == nil:
			outside = refuse(CodeRootNotVisible, "an allowed directory cannot be seen by the decision service")
		case isWithin(at.names, names):
			return s.roots[i].text, nil, nil
		}
	}
	return "", outside, nil
}

func (s *service) lookAtRoots(ctx context.Context) error {
	if s.looked {
		return nil
	}
	s.resolvedRoots = make([][]string, len(s.roots))
	for i, r := range s.roots {
		at, err := walk(ctx, r.text)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil && at.existing == len(at.names) {
			s.resolvedRoots[i] = append([]string{}, at.names...) // not nil, though it may be "/"
		}
	}
	s.looked = true
	return nil
}

// ruleOf names for the record why a walk has failed. An error that no caller
// could have caused is a denial too: the path has not been judged.
func ruleOf(err error) string {
	switch {
	case errors.Is(err, errLoop):
		return CodeUnresolved + ".loop"
	case errors.Is(err, errDepth):
		return CodeUnresolved + ".depth"
	case errors.Is(err, errClimb), errors.Is(err, errNotDir):
		return CodeUnresolved + ".no_directory"
	case errors.Is(err, fs.ErrPermission):
		return CodeUnresolved + ".permission"
	default:
		return CodeUnresolved + ".io"
	}
}
