package controllers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	certificatesv1ac "k8s.io/client-go/applyconfigurations/certificates/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hookpolicy/hookpolicy/internal/certs"
	"github.com/hookpolicy/hookpolicy/internal/contract"
)

// AuthoritySecret is the Secret of the certificate authority, in the platform's
// namespace. Whoever reads it can pose as any decision service.
const AuthoritySecret = "hookpolicy-ca"

// An Authority keeps the cluster's certificate authority in a Secret, publishes
// what is to be trusted, and takes the steps of its rotation. It has one user
// at a time: the reconciler of DecisionServices.
type Authority struct {
	Client client.Client
	// Namespace is the platform's.
	Namespace string
	// TrustBundles says that the cluster has ClusterTrustBundles. Otherwise the
	// bundle is published as a ConfigMap in each bound namespace.
	TrustBundles bool
	Now          func() time.Time

	// published is what each namespace was given.
	published map[string]publication
}

// A publication is the bundle that a namespace was given, and how new the
// namespace was known to be at that time.
type publication struct {
	bundle string
	newest time.Time
}

// namespaces are those that need to know the authority, each with the time at
// which the newest was made of what says so. A namespace that is deleted and
// made anew has lost what it was given, and all in it is newer.
type namespaces map[string]time.Time

// add adds a namespace, or tells of something newer in it.
func (n namespaces) add(name string, made time.Time) {
	if known, ok := n[name]; !ok || made.After(known) {
		n[name] = made
	}
}

// Ready returns the authority, once it is stored and what it signs is trusted:
// a new one is published before it signs. It is told to the namespaces where
// there are no ClusterTrustBundles.
func (a *Authority) Ready(ctx context.Context, to namespaces) (*certs.Authority, error) {
	secret, authority, err := a.load(ctx)
	if err != nil {
		return nil, err
	}
	for {
		next, err := authority.Advance(a.Now())
		if err != nil {
			return nil, fmt.Errorf("rotate the certificate authority: %w", err)
		}
		if next == authority {
			break
		}
		if err := a.store(ctx, secret, next); err != nil {
			return nil, err
		}
		authority = next
	}
	if err := a.publish(ctx, authority.Bundle(), to); err != nil {
		return nil, err
	}
	if next := authority.Published(a.Now()); next != authority {
		if err := a.store(ctx, secret, next); err != nil {
			return nil, err
		}
		authority = next
	}
	return authority, nil
}

// load reads the authority, and makes one where there is none. One that cannot
// be read is an error for people to look at: everybody trusts it.
func (a *Authority) load(ctx context.Context) (*corev1.Secret, *certs.Authority, error) {
	secret := &corev1.Secret{}
	err := a.Client.Get(ctx, types.NamespacedName{Namespace: a.Namespace, Name: AuthoritySecret}, secret)
	if apierrors.IsNotFound(err) {
		return a.create(ctx)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the Secret of the certificate authority: %w", err)
	}
	authority, err := certs.ParseAuthority(secret.Data)
	return secret, authority, err
}

// create makes the authority. Of two that try, one gets an error.
func (a *Authority) create(ctx context.Context) (*corev1.Secret, *certs.Authority, error) {
	authority, err := certs.NewAuthority(a.Now())
	if err != nil {
		return nil, nil, fmt.Errorf("make a certificate authority: %w", err)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: a.Namespace, Name: AuthoritySecret,
			Labels: commonLabels(),
		},
		Type: corev1.SecretTypeTLS,
		Data: authority.Data(),
	}
	if err := a.Client.Create(ctx, secret, FieldOwner); err != nil {
		return nil, nil, fmt.Errorf("create the Secret of the certificate authority: %w", err)
	}
	return secret, authority, nil
}

// store replaces the authority that was read, and no other one.
func (a *Authority) store(ctx context.Context, secret *corev1.Secret, authority *certs.Authority) error {
	secret.Data = authority.Data()
	if err := a.Client.Update(ctx, secret, FieldOwner); err != nil {
		return fmt.Errorf("update the Secret of the certificate authority: %w", err)
	}
	return nil
}

func (a *Authority) publish(ctx context.Context, bundle []byte, to namespaces) error {
	if a.TrustBundles {
		err := apply(ctx, a.Client, certificatesv1ac.ClusterTrustBundle(contract.TrustBundle).
			WithLabels(commonLabels()).
			WithSpec(certificatesv1ac.ClusterTrustBundleSpec().
				WithSignerName(contract.TrustBundleSigner).WithTrustBundle(string(bundle))))
		if err != nil {
			return err
		}
		to = namespaces{a.Namespace: time.Time{}} // for what mounts no bundle: a Prometheus, say
	}
	if a.published == nil {
		a.published = make(map[string]publication)
	}
	for _, namespace := range slices.Sorted(maps.Keys(to)) {
		was, newest := a.published[namespace], to[namespace]
		if was.bundle == string(bundle) && !newest.After(was.newest) {
			continue
		}
		err := apply(ctx, a.Client, corev1ac.ConfigMap(contract.CAConfigMap, namespace).
			WithLabels(commonLabels()).
			WithData(map[string]string{contract.CAConfigMapKey: string(bundle)}))
		switch {
		case apierrors.IsNotFound(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
			delete(a.published, namespace)
			continue // no such namespace, or not for long: nobody there to trust us
		case err != nil:
			return err
		}
		a.published[namespace] = publication{bundle: string(bundle), newest: newest}
	}
	return nil
}

// commonLabels are those of what belongs to no service in particular.
func commonLabels() map[string]string {
	return map[string]string{contract.LabelName: contract.AppName, contract.LabelManagedBy: contract.ManagedBy}
}
