package approval

import "maps"

// Names of the reserved top-level arguments. They are taken off a call before
// hooks, digest and tool see it.
const (
	ArgConfirm  = "confirm_destructive"
	ArgApproval = "hook_approval"
)

// A Consent is what an agent wrote into the reserved arguments. It is the
// agent's word and approves nothing by itself.
type Consent struct {
	Confirmed bool   // confirm_destructive was the literal true
	ID        string // hook_approval; empty if missing or no string
}

// TakeConsent takes the reserved arguments off. The given map is not changed;
// it is returned itself if it holds neither of them.
func TakeConsent(args map[string]any) (rest map[string]any, consent Consent) {
	confirm, hasConfirm := args[ArgConfirm]
	id, hasID := args[ArgApproval]
	if !hasConfirm && !hasID {
		return args, Consent{}
	}
	rest = maps.Clone(args)
	delete(rest, ArgConfirm)
	delete(rest, ArgApproval)
	consent.Confirmed = confirm == true
	consent.ID, _ = id.(string)
	return rest, consent
}

// ConfirmArgs returns the arguments that a repeat of the held call may carry.
func ConfirmArgs(id string) map[string]any {
	return map[string]any{ArgConfirm: true, ArgApproval: id}
}
