package controllers

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/plan"
)

// hiddenRoots names the roots that a service is to resolve links beneath and
// that lie on none of its volumes, by hook; empty if there are none.
func hiddenRoots(segment *plan.Segment, volumes []v1alpha1.DataVolume) string {
	const most = 5
	var hidden []string
	for i := range segment.Hooks {
		h := &segment.Hooks[i]
		if h.PathAllowlist == nil || h.PathAllowlist.Resolve != plan.ResolveService {
			continue
		}
		for _, root := range h.PathAllowlist.Roots {
			if !slices.ContainsFunc(volumes, func(v v1alpha1.DataVolume) bool { return beneath(root, v.MountPath) }) {
				hidden = append(hidden, fmt.Sprintf("hook %s: root %s", h.Name, root))
			}
		}
	}
	if n := len(hidden); n > most {
		hidden = append(hidden[:most], fmt.Sprintf("and %d more", n-most))
	}
	return strings.Join(hidden, ", ")
}

// beneath reports whether a path is the mount or lies beneath it, component by
// component.
func beneath(name, mount string) bool {
	rest, ok := strings.CutPrefix(path.Clean(name), path.Clean(mount))
	return ok && (rest == "" || rest[0] == '/')
}
