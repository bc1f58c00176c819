package controllers

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// FieldOwner owns the fields that this package writes.
const FieldOwner = client.FieldOwner("hookpolicy-manager")

// errWait ends a run of phases that has to wait for something that is watched.
var errWait = errors.New("waiting")

// A phase is one step of a reconciliation. What it finds it leaves in the scope.
type phase[S any] func(ctx context.Context, scope S) error

// run runs phases up to the first that errs or waits.
func run[S any](ctx context.Context, scope S, phases ...phase[S]) error {
	for _, p := range phases {
		if err := p(ctx, scope); errors.Is(err, errWait) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

// apply makes an object what an apply configuration says, whoever else wrote
// the same fields.
func apply(ctx context.Context, c client.Client, ac runtime.ApplyConfiguration) error {
	if err := c.Apply(ctx, ac, FieldOwner, client.ForceOwnership); err != nil {
		return fmt.Errorf("apply %s: %w", kindOf(ac), err)
	}
	return nil
}

// applyStatus does the same with a status. An object that is gone needs none.
func applyStatus(ctx context.Context, c client.Client, ac runtime.ApplyConfiguration) error {
	err := c.Status().Apply(ctx, ac, FieldOwner, client.ForceOwnership)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("apply the status of a %s: %w", kindOf(ac), err)
	}
	return nil
}

// kindOf names the kind of an apply configuration, for errors.
func kindOf(ac runtime.ApplyConfiguration) string {
	if k, ok := ac.(interface{ GetKind() *string }); ok && k.GetKind() != nil {
		return *k.GetKind()
	}
	return fmt.Sprintf("%T", ac)
}
