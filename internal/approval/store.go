package approval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hookpolicy/hookpolicy/internal/chain"
)

// A Store keeps approvals. It is safe for concurrent use, and so that it can be
// a Kubernetes API server (an approval an object, Version its resourceVersion)
// it promises no more than one can:
//
//   - Update writes if nobody wrote since Version was read. Of two writers with
//     the same Version one gets ErrConflict.
//
//   - After ErrUnavailable the write may or may not have happened.
//
//   - What Create and Update wrote, Get and List of the same process show at
//     once.
//
//   - Where people vote in the Store itself, it shows their votes as Cast, less
//     those that Votes holds by then. Update does not write Cast.
//
// The Store judges nothing and knows no clock: filters compare State as it was
// written. What it returns the caller may keep, but not change.
type Store interface {
	// Create adds an approval and returns it with its Version. ErrConflict if
	// there is one with that ID; ErrUnavailable if the store is full.
	Create(ctx context.Context, a Approval) (Approval, error)
	// Get returns one approval, or ErrNotFound.
	Get(ctx context.Context, id string) (Approval, error)
	// Update replaces the approval with a.ID and returns it with its new
	// Version. ErrConflict if its Version is not a.Version; ErrNotFound.
	Update(ctx context.Context, a Approval) (Approval, error)
	// List returns the approvals that match, oldest first.
	List(ctx context.Context, f Filter) ([]Approval, error)
	// Watch sends each approval that is created or updated after Watch has
	// returned, by whomever; only the one named if id is not empty. Several
	// changes of one approval may arrive as the last of them. The channel is
	// closed when ctx ends, and whenever the Store cannot promise to show
	// everything: then watch again, and list. A slow reader blocks nobody.
	Watch(ctx context.Context, id string) <-chan Approval
}

// A Filter chooses approvals. Empty fields choose all.
type Filter struct {
	Digest    string
	Requester chain.Caller
	States    []State
}

// Match reports whether the filter chooses the approval.
func (f Filter) Match(a Approval) bool {
	return (f.Digest == "" || f.Digest == a.Digest) &&
		(f.Requester == chain.Caller{} || f.Requester == a.Requester) &&
		(len(f.States) == 0 || slices.Contains(f.States, a.State))
}

// OldestFirst compares approvals by age, then by ID.
func OldestFirst(a, b Approval) int {
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), strings.Compare(a.ID, b.ID))
}

// Errors that callers tell apart.
var (
	// ErrNotFound: there is no such approval, or it is not the asker's.
	ErrNotFound = errors.New("no such approval")
	// ErrConflict: somebody else wrote first.
	ErrConflict = errors.New("approval was changed meanwhile")
	// ErrUnavailable: the store cannot be used, so nothing is approved.
	ErrUnavailable = errors.New("approval store is unavailable")
	// ErrOwnVote: the requester cannot decide on its own call.
	ErrOwnVote = errors.New("requester may not decide on its own call")
	// ErrVoter: the user's name is no person's.
	ErrVoter = errors.New("voter is not a named person")
	// ErrVotedAlready: one vote a person, and it stays.
	ErrVotedAlready = errors.New("user has voted already")
	// ErrInStore: votes on this approval are cast in the store itself.
	ErrInStore = errors.New("held calls of this service are decided in the cluster: kubectl hookpolicy approve or reject")
	// ErrElsewhere: another replica holds the call and takes its votes.
	ErrElsewhere = errors.New("call is held by another replica")
)

// A StateError says that a vote came when there was nothing to decide. The vote
// changed nothing.
type StateError struct {
	ID    string
	State State
}

func (e *StateError) Error() string {
	return fmt.Sprintf("approval %s is %s already: the vote changes nothing", e.ID, e.State)
}
