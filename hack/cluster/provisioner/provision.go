package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/provisioner/disk"
)

// local makes volumes that exist on one node only, as a disk inside it would.
type local struct{ disks disk.Store }

// errNoNode is what a class that binds at once would run into.
var errNoNode = errors.New("no node was selected: the storage class must have volumeBindingMode WaitForFirstConsumer")

// Provision makes the disk and says where it is. The capacity is what was
// asked for, though the file of a small claim is bigger: a claim that says
// 64Mi must not show 300Mi.
func (l local) Provision(ctx context.Context, options controller.ProvisionOptions) (*corev1.PersistentVolume, controller.ProvisioningState, error) {
	if options.SelectedNodeName == "" {
		return nil, controller.ProvisioningFinished, errNoNode
	}
	requested := options.PVC.Spec.Resources.Requests[corev1.ResourceStorage]
	if err := l.disks.Create(ctx, options.PVName, requested.Value()); err != nil {
		return nil, controller.ProvisioningFinished, fmt.Errorf("make a disk for %s/%s: %w", options.PVC.Namespace, options.PVC.Name, err)
	}
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: options.PVName},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: *options.StorageClass.ReclaimPolicy,
			AccessModes:                   options.PVC.Spec.AccessModes,
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: requested},
			VolumeMode:                    options.PVC.Spec.VolumeMode,
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				// Local and not hostPath: kubelet then applies fsGroup.
				Local: &corev1.LocalVolumeSource{Path: l.disks.Mount(options.PVName)},
			},
			NodeAffinity: onlyOn(options.SelectedNodeName),
		},
	}, controller.ProvisioningFinished, nil
}

// Delete removes the disk of a volume whose claim is gone.
func (l local) Delete(ctx context.Context, volume *corev1.PersistentVolume) error {
	if err := l.disks.Delete(ctx, volume.Name); err != nil {
		return fmt.Errorf("delete the disk of %s: %w", volume.Name, err)
	}
	return nil
}

// onlyOn keeps pods with the volume on its node.
func onlyOn(node string) *corev1.VolumeNodeAffinity {
	return &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{
				Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node},
			}},
		}},
	}}
}
