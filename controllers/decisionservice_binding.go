package controllers

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hookpolicy/hookpolicy/internal/contract"
	"github.com/hookpolicy/hookpolicy/internal/render"
)

const (
	// bindingKeyBytes is the length of the key that replicas share.
	bindingKeyBytes = 32
	// foreignSecretRetry is when a name that is taken is looked at again.
	foreignSecretRetry = 10 * time.Second
)

// shareKey gives the replicas of the service the key that ties approvals to
// calls. It is made once: another one would void every approval. A Secret of
// that name that is somebody else's is not used, for whoever knows the key could
// guess what is behind a digest.
func (r *DecisionServiceReconciler) shareKey(ctx context.Context, s *serviceScope) error {
	var secret corev1.Secret
	name := types.NamespacedName{Namespace: s.service.Namespace, Name: contract.BindingSecret(s.service.Name)}
	switch err := r.Client.Get(ctx, name, &secret); {
	case apierrors.IsNotFound(err):
	case err != nil:
		return fmt.Errorf("read the Secret of the binding key: %w", err)
	case !metav1.IsControlledBy(&secret, s.service) || len(secret.Data[contract.BindingKey]) < bindingKeyBytes:
		s.blocked = fmt.Sprintf("Secret %s is not the service's own: delete it, and it is made", name.Name)
		s.wakeAt(r.Now().Add(foreignSecretRetry)) // Secrets are not watched
		return errWait
	default:
		return nil
	}
	key := make([]byte, bindingKeyBytes)
	rand.Read(key) // never fails
	err := r.Client.Create(ctx, render.BindingSecret(s.service, key), FieldOwner)
	if err != nil {
		// One that was made meanwhile is looked at in the next run.
		return fmt.Errorf("create the Secret of the binding key: %w", err)
	}
	return nil
}
