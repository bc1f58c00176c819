package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/controllers"
	"github.com/hookpolicy/hookpolicy/internal/contract"
	"github.com/hookpolicy/hookpolicy/internal/render"
)

// run works until ctx is done.
func run(ctx context.Context, o options, r render.Options, level slog.Level) error {
	o.setLoggers(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	config, err := restConfig(o.kubeconfig)
	if err != nil {
		return fmt.Errorf("find out how to reach the API server: %w", err)
	}
	mo, err := managerOptions(o)
	if err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(config, mo)
	if err != nil {
		return fmt.Errorf("set up the manager: %w", err)
	}
	bundles, err := hasTrustBundles(mgr.GetRESTMapper())
	if err != nil {
		return err
	}
	if err := controllers.Setup(ctx, mgr, controllers.Options{Render: r, TrustBundles: bundles}); err != nil {
		return err
	}
	if err := metrics.Registry.Register(controllers.NewCollector(ctx, mgr.GetCache(), version)); err != nil {
		return fmt.Errorf("register the manager's metrics: %w", err)
	}
	if err := errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("ping", healthz.Ping)); err != nil {
		return fmt.Errorf("set up the health checks: %w", err)
	}
	ctrl.Log.Info("Manager starts", "version", version, "trustBundles", bundles)
	return mgr.Start(ctx)
}

func restConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig == "" {
		return ctrl.GetConfig()
	}
	return clientcmd.BuildConfigFromFlags("", kubeconfig)
}

// hasTrustBundles asks whether the cluster serves ClusterTrustBundles.
func hasTrustBundles(mapper meta.RESTMapper) (bool, error) {
	_, err := mapper.RESTMapping(schema.GroupKind{Group: "certificates.k8s.io", Kind: "ClusterTrustBundle"}, "v1")
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("ask for ClusterTrustBundles: %w", err)
	}
	return true, nil
}

// managerOptions keep in memory what is ours only, and no Secret at all.
func managerOptions(o options) (ctrl.Options, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return ctrl.Options{}, fmt.Errorf("set up the kinds: %w", err)
	}
	ours := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{contract.LabelManagedBy: contract.ManagedBy})}
	return ctrl.Options{
		Scheme: scheme,
		Cache: cache.Options{
			DefaultTransform:            cache.TransformStripManagedFields(),
			ReaderFailOnMissingInformer: true,
			ByObject: map[client.Object]cache.ByObject{
				&appsv1.StatefulSet{}:           ours,
				&corev1.Service{}:               ours,
				&corev1.ServiceAccount{}:        ours,
				&corev1.PersistentVolumeClaim{}: ours,
				&rbacv1.Role{}:                  ours,
				&rbacv1.RoleBinding{}:           ours,
				&networkingv1.NetworkPolicy{}:   ours,
				&policyv1.PodDisruptionBudget{}: ours,
			},
		},
		Client: client.Options{
			Cache:           &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}},
			FieldOwner:      string(controllers.FieldOwner),
			FieldValidation: metav1.FieldValidationStrict,
		},
		Controller:                    config.Controller{ReconciliationTimeout: o.timeout},
		Metrics:                       metricsOptions(o),
		HealthProbeBindAddress:        o.healthAddress,
		LeaderElection:                o.leaderElect,
		LeaderElectionID:              contract.ManagedBy,
		LeaderElectionNamespace:       o.platformNamespace,
		LeaderElectionReleaseOnCancel: true, // the process ends right after
	}, nil
}

func metricsOptions(o options) metricsserver.Options {
	m := metricsserver.Options{BindAddress: o.metricsAddress}
	if o.metricsSecure {
		m.SecureServing = true
		m.FilterProvider = filters.WithAuthenticationAndAuthorization
		m.TLSOpts = []func(*tls.Config){func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }}
	}
	return m
}
