package controllers

import (
	"fmt"
	"strings"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/plan"
	"github.com/hookpolicy/hookpolicy/internal/policy"
)

// hiddenRoots names the roots that a service is to resolve links beneath and
// that lie on none of its volumes, by hook; empty if there are none.
func hiddenRoots(segment *plan.Segment, sees policy.View) string {
	const most = 5
	var hidden []string
	for i := range segment.Hooks {
		h := &segment.Hooks[i]
		if h.PathAllowlist == nil || h.PathAllowlist.Resolve != plan.ResolveService {
			continue
		}
		for _, root := range h.PathAllowlist.Roots {
			if !sees(root) {
				hidden = append(hidden, fmt.Sprintf("hook %s: root %s", h.Name, root))
			}
		}
	}
	if n := len(hidden); n > most {
		hidden = append(hidden[:most], fmt.Sprintf("and %d more", n-most))
	}
	return strings.Join(hidden, ", ")
}

// viewOf is what a service sees: its data volumes.
func viewOf(ds *v1alpha1.DecisionService) policy.View {
	mounts := make([]string, len(ds.Spec.DataVolumes))
	for i, v := range ds.Spec.DataVolumes {
		mounts[i] = v.MountPath
	}
	return policy.Sees(mounts)
}
