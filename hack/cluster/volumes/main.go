// Command volumes provisions the claims of a one-node test cluster: for each
// claim of its StorageClass that a pod waits for, it makes a folder and a local
// PersistentVolume of it, and it removes both when the claim is gone.
//
// Local volumes and not host paths, since the kubelet applies fsGroup to them,
// which is how a pod that is not root gets to write. A StorageClass with the
// parameter medium: Memory gets a file system of its own, as large as the claim
// asks for, so that a volume can be full.
//
//	volumes -kubeconfig FILE -dir DIR -node node1
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	provisionerName = "cluster.test/local"
	selectedNode    = "volume.kubernetes.io/selected-node" // set by the scheduler: a pod waits for the claim
	provisionedBy   = "pv.kubernetes.io/provisioned-by"
	pause           = 200 * time.Millisecond
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "file with the administrator's access")
	var p provisioner
	flag.StringVar(&p.dir, "dir", "volumes", "folder of the volumes' folders")
	flag.StringVar(&p.node, "node", "node1", "name of the node")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := p.run(ctx, *kubeconfig); err != nil {
		slog.Error("volumes", "error", err)
		os.Exit(1)
	}
}

// A provisioner makes and removes volumes.
type provisioner struct {
	client.Client
	dir, node string
}

// run looks at all claims and volumes again and again: there are few of them.
func (p *provisioner) run(ctx context.Context, kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	if p.Client, err = client.New(config, client.Options{}); err != nil {
		return err
	}
	for ctx.Err() == nil {
		if err := errors.Join(p.provision(ctx), p.reclaim(ctx)); err != nil && ctx.Err() == nil {
			slog.Warn("volumes", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return nil
}

func (p *provisioner) provision(ctx context.Context) error {
	var classes storagev1.StorageClassList
	if err := p.List(ctx, &classes); err != nil {
		return fmt.Errorf("list storage classes: %w", err)
	}
	ours := map[string]*storagev1.StorageClass{}
	for i := range classes.Items {
		if c := &classes.Items[i]; c.Provisioner == provisionerName {
			ours[c.Name] = c
		}
	}
	var claims corev1.PersistentVolumeClaimList
	if err := p.List(ctx, &claims); err != nil {
		return fmt.Errorf("list claims: %w", err)
	}
	var errs []error
	for i := range claims.Items {
		claim := &claims.Items[i]
		if claim.Spec.VolumeName != "" || claim.Spec.StorageClassName == nil || claim.Annotations[selectedNode] == "" {
			continue
		}
		if class := ours[*claim.Spec.StorageClassName]; class != nil {
			errs = append(errs, p.makeVolume(ctx, class, claim))
		}
	}
	return errors.Join(errs...)
}

func (p *provisioner) makeVolume(ctx context.Context, class *storagev1.StorageClass, claim *corev1.PersistentVolumeClaim) error {
	name := "pvc-" + string(claim.UID)
	size := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	path := filepath.Join(p.dir, name)
	if err := makeFolder(path, class.Parameters["medium"] == "Memory", size.Value()); err != nil {
		return err
	}
	err := p.Create(ctx, &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{provisionedBy: provisionerName}},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: size},
			AccessModes:                   claim.Spec.AccessModes,
			PersistentVolumeReclaimPolicy: *class.ReclaimPolicy,
			StorageClassName:              class.Name,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: path}},
			NodeAffinity:                  p.onThisNode(),
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
			},
		},
	})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make the volume of %s/%s: %w", claim.Namespace, claim.Name, err)
	}
	return nil
}

func (p *provisioner) onThisNode() *corev1.VolumeNodeAffinity {
	return &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{
			Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{p.node},
		}},
	}}}}
}

// makeFolder makes an empty folder, or a file system in memory of so many
// bytes. What is there already stays as it is.
func makeFolder(path string, memory bool, bytes int64) error {
	err := os.Mkdir(path, 0o777)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil || !memory {
		return err
	}
	return syscall.Mount("tmpfs", path, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0777", bytes))
}

// reclaim removes the volumes whose claim is gone, if their class says so.
func (p *provisioner) reclaim(ctx context.Context) error {
	var volumes corev1.PersistentVolumeList
	if err := p.List(ctx, &volumes); err != nil {
		return fmt.Errorf("list volumes: %w", err)
	}
	for i := range volumes.Items {
		v := &volumes.Items[i]
		if v.Annotations[provisionedBy] != provisionerName || v.Status.Phase != corev1.VolumeReleased ||
			v.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete {
			continue
		}
		if err := syscall.Unmount(v.Spec.Local.Path, 0); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOENT) {
			return fmt.Errorf("unmount volume %s: %w", v.Name, err)
		}
		if err := os.RemoveAll(v.Spec.Local.Path); err != nil {
			return err
		}
		if err := p.Delete(ctx, v); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete volume %s: %w", v.Name, err)
		}
	}
	return nil
}
