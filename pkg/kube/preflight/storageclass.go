package preflight

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// FindClass reports whether claims may name the storage class: there is one of
// that name, or a volume that an administrator made has it, which needs no
// StorageClass. It also says so where classes can't be read: nothing is known
// against the class then. others are the classes that exist.
func FindClass(ctx context.Context, c *kube.Client, name string) (found bool, others []string, err error) {
	var classes Classes
	if err := readClasses(ctx, c, &classes); err != nil {
		return false, nil, err
	}
	if classes.Unknown != "" || slices.Contains(classes.Names, name) {
		return true, classes.Names, nil
	}
	var volumes corev1.PersistentVolumeList
	if err := c.API.List(ctx, &volumes); err != nil {
		_, err = Unreadable(err)
		return false, classes.Names, err
	}
	found = slices.ContainsFunc(volumes.Items, func(v corev1.PersistentVolume) bool {
		return v.Spec.StorageClassName == name
	})
	return found, classes.Names, nil
}

// Follows reports whether a volume of the storage class is made where the pod runs that uses it first, on whichever
// node that is. It is false where classes can't be read.
func Follows(ctx context.Context, c *kube.Client, name string) (bool, error) {
	var list storagev1.StorageClassList
	if err := c.API.List(ctx, &list); err != nil {
		_, err = Unreadable(err)
		return false, err
	}
	return slices.ContainsFunc(list.Items, func(class storagev1.StorageClass) bool {
		return class.Name == name && class.VolumeBindingMode != nil &&
			*class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer && len(class.AllowedTopologies) == 0
	}), nil
}
