package paths

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hookpolicy/hookpolicy/internal/plan"
)

// places are what a policy says about where paths may lead.
type places struct {
	roots            []root
	workingDirectory string // absolute, or "" if none is declared
}

// A root is a directory that paths may lie in.
type root struct {
	text  string   // as in the policy
	names []string // of the cleaned path
	// climbs says that the text holds "..", so that where it leads depends on
	// links and the names may be wrong.
	climbs bool
}

// newPlaces reads the settings and reports all that is wrong with them.
func newPlaces(s *plan.PathAllowlist) (places, error) {
	var errs []error
	if len(s.Roots) == 0 {
		errs = append(errs, errors.New("roots: at least one is needed"))
	}
	p := places{workingDirectory: s.WorkingDirectory}
	for _, text := range s.Roots {
		if err := checkSetting(text); err != nil {
			errs = append(errs, fmt.Errorf("root %q: %w", text, err))
			continue
		}
		p.roots = append(p.roots, root{
			text:   text,
			names:  split(text),
			climbs: slices.Contains(strings.Split(text, "/"), ".."),
		})
	}
	if s.WorkingDirectory != "" {
		if err := checkSetting(s.WorkingDirectory); err != nil {
			errs = append(errs, fmt.Errorf("workingDirectory %q: %w", s.WorkingDirectory, err))
		}
	}
	return p, errors.Join(errs...)
}

// checkSetting holds the policy's own paths to what the agent's are held to,
// or a path that was allowed could be refused when it is judged again.
func checkSetting(text string) error {
	switch {
	case !strings.HasPrefix(text, "/"):
		return errors.New("is not absolute")
	case hasClass(text):
		return errors.New("is refused by its form (a pattern)")
	case checkForm(text) != nil:
		return fmt.Errorf("is refused by its form (%s)", checkForm(text).rule)
	case isSpecial(split(text)):
		return errors.New("lies where no path is ever allowed")
	}
	return nil
}

// absolute puts the working directory before a relative path. It does not
// clean: what ".." means depends on links.
func (p places) absolute(text string) (string, *refusal) {
	switch {
	case strings.HasPrefix(text, "/"):
		return text, nil
	case p.workingDirectory == "":
		return "", refuse(CodeRelative, "path is not absolute")
	default:
		return p.workingDirectory + "/" + text, nil
	}
}

// contain returns the root that holds a path whose text is all there is to
// know about it.
func (p places) contain(names []string) (string, *refusal) {
	if hasClass(join(names)) { // nobody looks whether it is one
		return "", refusePattern()
	}
	if isSpecial(names) {
		return "", refuseSpecial()
	}
	for _, r := range p.roots {
		if isWithin(names, r.names) {
			return r.text, nil
		}
	}
	return "", refuse(CodeOutside, "path is outside the allowed directories")
}

// split returns the names of a cleaned absolute path.
func split(text string) []string {
	text = strings.TrimPrefix(path.Clean(text), "/")
	if text == "" {
		return nil
	}
	return strings.Split(text, "/")
}

func join(names []string) string { return "/" + strings.Join(names, "/") }

// isWithin reports whether a path is a directory or lies beneath it. It
// compares names: /data/customer-ab is not in /data/customer-a.
func isWithin(names, dir []string) bool {
	return len(names) >= len(dir) && slices.Equal(names[:len(dir)], dir)
}

// isSpecial reports whether a path leads to where the kernel shows processes,
// descriptors and devices, or Kubernetes a pod's credentials. What a path there
// means depends on who opens it, so no root makes it allowed.
func isSpecial(names []string) bool {
	if len(names) == 0 {
		return false
	}
	switch names[0] {
	case "proc", "sys", "dev":
		return true
	case "var":
		return len(names) > 1 && names[1] == "run" && isSpecial(names[1:])
	case "run":
		return isWithin(names, []string{"run", "secrets", "kubernetes.io"})
	}
	return false
}

func refusePattern() *refusal {
	return &refusal{code: CodeForm, rule: CodeForm + ".expansion", message: "path is not in a plain form"}
}

func refuseSpecial() *refusal {
	return refuse(CodeSpecial, "path leads to no ordinary file or directory")
}
