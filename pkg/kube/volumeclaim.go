package kube

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// BuildVolume is a member's claim. It has no owner: data outlives the cluster
// unless its deletion is asked for. The token says which formation made it.
func BuildVolume(c *v1alpha1.DatabaseCluster, member string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: metav1.ObjectMeta{
			Name: v1alpha1.VolumeName(member), Namespace: c.Namespace,
			Labels: memberLabels(c, member), Annotations: map[string]string{AnnotationToken: token(c)},
		},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			StorageClassName: c.Spec.Storage.ClassName,
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: c.Spec.Storage.Size}},
		},
	}
}

// token of the present formation.
func token(c *v1alpha1.DatabaseCluster) string {
	if c.Status.Formation == nil {
		return ""
	}
	return c.Status.Formation.Token
}

// FindClaim looks for a claim; ErrNotFound if there is none of that name.
func (c *Client) FindClaim(ctx context.Context, namespace, name string) error {
	return c.api.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &corev1.PersistentVolumeClaim{})
}
