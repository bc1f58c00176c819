package render

import (
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/hookpolicy/hookpolicy/internal/contract"
)

const (
	userID = 65532 // nonroot, in most distroless images too

	tlsVolume   = "tls"
	tmpVolume   = "tmp"
	keyVolume   = "binding"
	tokenVolume = "api-access"
	// tokenDir is where client libraries look for the API server's token.
	tokenDir = "/var/run/secrets/kubernetes.io/serviceaccount" //nolint:gosec // a directory, no secret
	// tokenSeconds is how long a token for the API server lives: the shortest
	// that Kubernetes takes. The kubelet renews it.
	tokenSeconds = 600
	// dataPrefix keeps the names of data volumes apart from ours.
	dataPrefix = "data-"
	// secretMode lets the pod's group read, nobody else.
	secretMode = 0o440
)

// volumes are the pod's, but for the claim, which comes from its template.
func (r *renderer) volumes() []*corev1ac.VolumeApplyConfiguration {
	secret := r.ds.Spec.TLS.SecretName
	if secret == "" {
		secret = contract.ServingSecret(r.ds.Name)
	}
	all := []*corev1ac.VolumeApplyConfiguration{
		corev1ac.Volume().WithName(tlsVolume).
			WithSecret(corev1ac.SecretVolumeSource().WithSecretName(secret).WithDefaultMode(secretMode)),
		corev1ac.Volume().WithName(keyVolume).
			WithSecret(corev1ac.SecretVolumeSource().WithSecretName(contract.BindingSecret(r.ds.Name)).WithDefaultMode(secretMode)),
		corev1ac.Volume().WithName(tmpVolume).WithEmptyDir(corev1ac.EmptyDirVolumeSource()),
		corev1ac.Volume().WithName(tokenVolume).WithProjected(tokenSource()),
	}
	for _, d := range r.ds.Spec.DataVolumes {
		all = append(all, corev1ac.Volume().WithName(dataPrefix+d.Name).WithPersistentVolumeClaim(
			corev1ac.PersistentVolumeClaimVolumeSource().WithClaimName(d.ClaimName).WithReadOnly(true)))
	}
	return all
}

// tokenSource is what a pod usually gets without asking: token, CA, namespace.
func tokenSource() *corev1ac.ProjectedVolumeSourceApplyConfiguration {
	return corev1ac.ProjectedVolumeSource().WithDefaultMode(secretMode).WithSources(
		corev1ac.VolumeProjection().WithServiceAccountToken(
			corev1ac.ServiceAccountTokenProjection().WithPath("token").WithExpirationSeconds(tokenSeconds)),
		corev1ac.VolumeProjection().WithConfigMap(corev1ac.ConfigMapProjection().WithName("kube-root-ca.crt").
			WithItems(corev1ac.KeyToPath().WithKey("ca.crt").WithPath("ca.crt"))),
		corev1ac.VolumeProjection().WithDownwardAPI(corev1ac.DownwardAPIProjection().WithItems(
			corev1ac.DownwardAPIVolumeFile().WithPath("namespace").WithFieldRef(
				corev1ac.ObjectFieldSelector().WithAPIVersion("v1").WithFieldPath("metadata.namespace")))),
	)
}

func (r *renderer) mounts() []*corev1ac.VolumeMountApplyConfiguration {
	mount := func(name, path string) *corev1ac.VolumeMountApplyConfiguration {
		return corev1ac.VolumeMount().WithName(name).WithMountPath(path)
	}
	all := []*corev1ac.VolumeMountApplyConfiguration{
		mount(auditVolume, contract.AuditDir),
		mount(tlsVolume, contract.TLSDir).WithReadOnly(true),
		mount(keyVolume, contract.BindingDir).WithReadOnly(true),
		mount(tmpVolume, "/tmp"),
		mount(tokenVolume, tokenDir).WithReadOnly(true),
	}
	for _, d := range r.ds.Spec.DataVolumes {
		all = append(all, mount(dataPrefix+d.Name, d.MountPath).WithReadOnly(true))
	}
	return all
}
