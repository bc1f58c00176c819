package controllers

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/certs"
	"github.com/hookpolicy/hookpolicy/internal/contract"
	"github.com/hookpolicy/hookpolicy/internal/render"
)

// issue gives the service a serving certificate, and renews it in time, unless
// it brings its own.
func (r *DecisionServiceReconciler) issue(ctx context.Context, s *serviceScope) error {
	if s.service.Spec.TLS.SecretName != "" {
		return nil
	}
	bound, err := r.boundNamespaces(ctx, s.service)
	if err != nil {
		return err
	}
	authority, err := r.Authority.Ready(ctx, bound)
	if err != nil {
		return err
	}
	s.wakeAt(authority.NextStep())
	names, now := render.ServingNames(s.service), r.Now()
	pair, err := r.serving(ctx, s.service)
	if err != nil {
		return err
	}
	if !authority.Serves(pair, names, now) {
		if pair, err = authority.Issue(names, now); err != nil {
			return fmt.Errorf("issue a serving certificate: %w", err)
		}
		if err := apply(ctx, r.Client, render.ServingSecret(s.service, pair)); err != nil {
			return err
		}
	}
	s.wakeAt(pair.RenewAt())
	return nil
}

// serving reads the service's certificate, nil if there is none that can be
// read or if the Secret is not the service's: then it is applied anew.
func (r *DecisionServiceReconciler) serving(ctx context.Context, ds *v1alpha1.DecisionService) (*certs.Pair, error) {
	var secret corev1.Secret
	key := types.NamespacedName{Namespace: ds.Namespace, Name: contract.ServingSecret(ds.Name)}
	if err := r.Client.Get(ctx, key, &secret); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read the Secret of the serving certificate: %w", err)
	}
	if !metav1.IsControlledBy(&secret, ds) {
		return nil, nil
	}
	pair, err := certs.ParsePair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, nil //nolint:nilerr // what cannot be read is replaced
	}
	return pair, nil
}

// boundNamespaces are those whose callers need to know the certificate
// authority: where only ConfigMaps can tell them. Of a service that serves
// all, those that have a policy bound to it.
func (r *DecisionServiceReconciler) boundNamespaces(ctx context.Context, ds *v1alpha1.DecisionService) (namespaces, error) {
	if r.Authority.TrustBundles {
		return nil, nil
	}
	bound := namespaces{ds.Namespace: ds.CreationTimestamp.Time}
	all, names := r.Options.Serves(ds)
	for _, name := range names {
		bound.add(name, time.Time{})
	}
	var list v1alpha1.HookPolicyList
	if err := r.Client.List(ctx, &list, client.MatchingFields{indexService: client.ObjectKeyFromObject(ds).String()},
		client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the policies that are bound: %w", err)
	}
	for i := range list.Items {
		hp := &list.Items[i]
		if all || slices.Contains(names, hp.Namespace) {
			bound.add(hp.Namespace, hp.CreationTimestamp.Time)
		}
	}
	return bound, nil
}
