package kube

import (
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
)

// The resources that this package reads and writes.
const (
	resourceHookPolicies        = "hookpolicies"
	resourceClusterHookPolicies = "clusterhookpolicies"
	resourceDecisionReplicas    = "decisionreplicas"
	resourceToolApprovals       = "toolapprovals"
	resourceTokenReviews        = "tokenreviews"
)

// userAgent is what the API server's own audit log shows.
const userAgent = "hookpolicy-replica"

// A Client reaches the API server. It knows no more kinds than this package
// needs: a replica's memory is for policies.
type Client struct {
	policies rest.Interface // hookpolicy.dev
	reviews  rest.Interface // authentication.k8s.io
}

// NewClient returns a client. It does not connect yet.
func NewClient(config *rest.Config) (*Client, error) {
	scheme := runtime.NewScheme()
	for kind, object := range map[string]runtime.Object{
		v1alpha1.KindHookPolicy: &object{}, v1alpha1.KindHookPolicy + "List": &objectList{},
		v1alpha1.KindClusterHookPolicy: &object{}, v1alpha1.KindClusterHookPolicy + "List": &objectList{},
		v1alpha1.KindDecisionReplica: &v1alpha1.DecisionReplica{},
		v1alpha1.KindToolApproval:    &v1alpha1.ToolApproval{}, v1alpha1.KindToolApproval + "List": &v1alpha1.ToolApprovalList{},
	} {
		scheme.AddKnownTypeWithName(v1alpha1.SchemeGroupVersion.WithKind(kind), object)
	}
	metav1.AddToGroupVersion(scheme, v1alpha1.SchemeGroupVersion)
	if err := authenticationv1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("set up the kinds: %w", err)
	}
	codecs := serializer.NewCodecFactory(scheme).WithoutConversion()
	policies, err := restClient(config, v1alpha1.SchemeGroupVersion, codecs)
	if err != nil {
		return nil, err
	}
	reviews, err := restClient(config, authenticationv1.SchemeGroupVersion, codecs)
	if err != nil {
		return nil, err
	}
	return &Client{policies: policies, reviews: reviews}, nil
}

func restClient(config *rest.Config, gv schema.GroupVersion, codecs runtime.NegotiatedSerializer) (rest.Interface, error) {
	c := rest.CopyConfig(config)
	c.GroupVersion = &gv
	c.APIPath = "/apis"
	c.NegotiatedSerializer = codecs
	c.ContentType = runtime.ContentTypeJSON
	c.AcceptContentTypes = runtime.ContentTypeJSON
	c.QPS = -1 // what this package sends is bounded where it is sent
	if c.UserAgent == "" {
		c.UserAgent = userAgent
	}
	client, err := rest.RESTClientFor(c)
	if err != nil {
		return nil, fmt.Errorf("make a client of %s: %w", gv, err)
	}
	return client, nil
}
