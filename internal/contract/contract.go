// Package contract holds what the controller and the replicas of a decision
// service must agree on: names, ports, paths, labels and the audience of
// tokens. Each is written once, here.
package contract

import (
	"fmt"
	"strconv"
)

// Ports of a replica and of its Service.
const (
	PortReplica = 8443 // HTTPS, in the pod
	PortService = 443
)

// Places in a replica's file system.
const (
	AuditDir    = "/audit"          // its own claim: chains, keys, last good policies
	StateFile   = "last-good.json"  // within AuditDir
	TLSDir      = "/tls"            // tls.crt and tls.key
	BindingDir  = "/binding"        // BindingKey: keys what ties an approval to its call
	BindingKey  = "key"             // within BindingDir, and in its Secret
	AdminSocket = "/tmp/admin.sock" // for kubectl exec … hookpolicy approve
)

// Labels of everything that belongs to a decision service. The first three
// never change: selectors are immutable.
const (
	LabelName      = "app.kubernetes.io/name"
	LabelInstance  = "app.kubernetes.io/instance"
	LabelComponent = "app.kubernetes.io/component"
	LabelManagedBy = "app.kubernetes.io/managed-by"

	AppName            = "hookpolicy"
	ComponentService   = "decision-service"
	ManagedBy          = "hookpolicy-manager"
	TrustBundle        = "hookpolicy.dev:serving:ca" // ClusterTrustBundle
	TrustBundleSigner  = "hookpolicy.dev/serving"
	CAConfigMap        = "hookpolicy-ca" // where there are no ClusterTrustBundles
	CAConfigMapKey     = "ca.crt"
	AnnotationInputs   = "hookpolicy.dev/inputs" // digest of what a child was rendered from
	EventSourceManager = "hookpolicy-manager"
)

// RoleApprovals is the ClusterRole that makes a ServiceAccount a decision service
// to admission: it may hold calls, settle them and forget them.
const RoleApprovals = "hookpolicy-decision-service-approvals"

// ChildName is the name of what a DecisionService is made of: StatefulSet,
// Service, ServiceAccount and the rest.
func ChildName(service string) string { return "hookpolicy-" + service }

// HeadlessName is the name of the Service that gives each replica its own name.
func HeadlessName(service string) string { return ChildName(service) + "-replicas" }

// ServingSecret is the Secret of the certificate that the controller issues.
func ServingSecret(service string) string { return ChildName(service) + "-serving" }

// BindingSecret is the Secret of the key that the replicas of a service share, so
// that each knows the approvals of the others.
func BindingSecret(service string) string { return ChildName(service) + "-binding" }

// ReplicaName is the name of one replica: of its pod and its DecisionReplica.
func ReplicaName(service string, ordinal int32) string {
	return ChildName(service) + "-" + strconv.Itoa(int(ordinal))
}

// Audience is the audience that a token needs for one decision service, so that
// no service can use its callers' tokens at another.
func Audience(namespace, service string) string {
	return fmt.Sprintf("hookpolicy.dev/%s/%s", namespace, service)
}

// Host is the DNS name of a decision service within the cluster.
func Host(namespace, service string) string {
	return fmt.Sprintf("%s.%s.svc", ChildName(service), namespace)
}

// URL is where agents reach a decision service.
func URL(namespace, service string) string { return "https://" + Host(namespace, service) }

// Labels are the labels of everything that belongs to a decision service.
func Labels(service string) map[string]string {
	return map[string]string{
		LabelName: AppName, LabelInstance: service, LabelComponent: ComponentService, LabelManagedBy: ManagedBy,
	}
}

// SelectorLabels select a decision service's pods.
func SelectorLabels(service string) map[string]string {
	return map[string]string{LabelName: AppName, LabelInstance: service, LabelComponent: ComponentService}
}
