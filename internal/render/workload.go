package render

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/hookpolicy/hookpolicy/api/v1alpha1"
	"github.com/hookpolicy/hookpolicy/internal/contract"
)

const (
	auditVolume = "audit" // the claim template, and so part of the claims' names
	// graceSeconds is the time that a replica has to answer and record what it
	// has taken on: twice the time-outs of its own shutdown, and some more.
	graceSeconds = 60
)

// ClaimPrefix is what the names of a service's claims begin with; the ordinal
// of the replica follows. The StatefulSet controller names them.
func ClaimPrefix(service string) string {
	return auditVolume + "-" + contract.ChildName(service) + "-"
}

// statefulSet has fixed labels in everything that cannot be changed later. Its
// pods start together: none depends on another. Claims outlive it.
func (r *renderer) statefulSet(size resource.Quantity) *appsv1ac.StatefulSetApplyConfiguration {
	return appsv1ac.StatefulSet(r.name(), r.ds.Namespace).
		WithLabels(r.labels()).WithOwnerReferences(r.owner).
		WithSpec(appsv1ac.StatefulSetSpec().
			WithReplicas(ReplicaCount(r.ds)).
			WithServiceName(contract.HeadlessName(r.ds.Name)).
			WithPodManagementPolicy(appsv1.ParallelPodManagement).
			WithPersistentVolumeClaimRetentionPolicy(appsv1ac.StatefulSetPersistentVolumeClaimRetentionPolicy().
				WithWhenDeleted(appsv1.RetainPersistentVolumeClaimRetentionPolicyType).
				WithWhenScaled(appsv1.RetainPersistentVolumeClaimRetentionPolicyType)).
			WithSelector(r.selector()).
			WithTemplate(corev1ac.PodTemplateSpec().
				WithLabels(r.labels()).
				WithSpec(r.pod())).
			WithVolumeClaimTemplates(r.claim(size)))
}

func (r *renderer) claim(size resource.Quantity) *corev1ac.PersistentVolumeClaimApplyConfiguration {
	spec := corev1ac.PersistentVolumeClaimSpec().
		WithAccessModes(corev1.ReadWriteOnce).
		WithResources(corev1ac.VolumeResourceRequirements().WithRequests(corev1.ResourceList{corev1.ResourceStorage: size}))
	if class := r.ds.Spec.Audit.StorageClassName; class != nil {
		spec.WithStorageClassName(*class)
	}
	claim := corev1ac.PersistentVolumeClaim(auditVolume, "").WithLabels(r.labels()).WithSpec(spec)
	claim.Namespace = nil // the StatefulSet's
	return claim
}

// pod is what the restricted Pod Security Standard asks for, and more: nothing
// can be written but the claim and /tmp.
func (r *renderer) pod() *corev1ac.PodSpecApplyConfiguration {
	pod := corev1ac.PodSpec().
		WithServiceAccountName(r.name()).
		WithAutomountServiceAccountToken(false). // mounted below, with an expiry
		WithEnableServiceLinks(false).
		WithTerminationGracePeriodSeconds(graceSeconds).
		WithSecurityContext(corev1ac.PodSecurityContext().
			WithRunAsNonRoot(true).WithRunAsUser(userID).WithRunAsGroup(userID).
			WithFSGroup(userID).WithFSGroupChangePolicy(corev1.FSGroupChangeOnRootMismatch).
			WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))).
		WithTopologySpreadConstraints(r.spread(corev1.LabelHostname), r.spread(corev1.LabelTopologyZone)).
		WithContainers(r.container()).
		WithVolumes(r.volumes()...)
	for _, name := range r.PullSecrets {
		pod.WithImagePullSecrets(corev1ac.LocalObjectReference().WithName(name))
	}
	return pod
}

// spread keeps replicas apart where it can be done.
func (r *renderer) spread(key string) *corev1ac.TopologySpreadConstraintApplyConfiguration {
	return corev1ac.TopologySpreadConstraint().
		WithMaxSkew(1).WithTopologyKey(key).WithWhenUnsatisfiable(corev1.ScheduleAnyway).
		WithLabelSelector(r.selector())
}

func (r *renderer) container() *corev1ac.ContainerApplyConfiguration {
	c := corev1ac.Container().
		WithName(contract.ComponentService).
		WithImage(r.Image).
		WithArgs(r.args()...).
		WithEnv(corev1ac.EnvVar().WithName("POD_NAME").WithValueFrom(corev1ac.EnvVarSource().
			WithFieldRef(corev1ac.ObjectFieldSelector().WithAPIVersion("v1").WithFieldPath("metadata.name")))).
		WithPorts(corev1ac.ContainerPort().WithName(portName).WithContainerPort(contract.PortReplica).WithProtocol(corev1.ProtocolTCP)).
		WithResources(r.resources()).
		WithSecurityContext(corev1ac.SecurityContext().
			WithAllowPrivilegeEscalation(false).WithReadOnlyRootFilesystem(true).
			WithCapabilities(corev1ac.Capabilities().WithDrop("ALL"))).
		// The first start may have to read many policies and a long chain.
		WithStartupProbe(probe("/healthz", 2, 60)).
		WithReadinessProbe(probe("/readyz", 2, 2)).
		WithLivenessProbe(probe("/healthz", 10, 3)).
		WithVolumeMounts(r.mounts()...)
	if r.PullPolicy != "" {
		c.WithImagePullPolicy(r.PullPolicy)
	}
	return c
}

// args are the command line of a replica. The namespaces that it serves are
// given, so that a change of them is rolled out as any other.
func (r *renderer) args() []string {
	namespaces := "*"
	if all, names := r.Serves(r.ds); !all {
		namespaces = strings.Join(names, ",")
	}
	unmatched := r.ds.Spec.Unmatched
	if unmatched == "" {
		unmatched = v1alpha1.UnmatchedDeny
	}
	args := []string{
		"serve", "--kube",
		"--namespace=" + r.ds.Namespace,
		"--service=" + r.ds.Name,
		"--platform-namespace=" + r.PlatformNamespace,
		"--namespaces=" + namespaces,
		"--unmatched=" + string(unmatched),
	}
	if volumes := r.ds.Spec.DataVolumes; len(volumes) > 0 {
		paths := make([]string, len(volumes))
		for i, v := range volumes {
			paths[i] = v.MountPath
		}
		slices.Sort(paths)
		args = append(args, "--data-paths="+strings.Join(paths, ","))
	}
	if d := r.DefaultService; d.Name != "" {
		args = append(args, "--default-decision-service="+d.String())
	}
	return args
}

func probe(path string, periodSeconds, failures int32) *corev1ac.ProbeApplyConfiguration {
	return corev1ac.Probe().
		WithHTTPGet(corev1ac.HTTPGetAction().WithPath(path).WithPort(intstr.FromString(portName)).WithScheme(corev1.URISchemeHTTPS)).
		WithPeriodSeconds(periodSeconds).WithFailureThreshold(failures).WithTimeoutSeconds(2)
}

// resources are those of the spec, and usual ones if it has none.
func (r *renderer) resources() *corev1ac.ResourceRequirementsApplyConfiguration {
	ac := corev1ac.ResourceRequirements()
	want := r.ds.Spec.Resources
	if len(want.Requests) == 0 && len(want.Limits) == 0 {
		return ac.WithRequests(corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi"),
		}).WithLimits(corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("512Mi")})
	}
	if len(want.Requests) > 0 {
		ac.WithRequests(want.Requests)
	}
	if len(want.Limits) > 0 {
		ac.WithLimits(want.Limits)
	}
	return ac
}
