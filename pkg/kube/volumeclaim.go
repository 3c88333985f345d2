package kube

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// BuildVolume is a member's claim. Data outlives the cluster unless its deletion is asked for.
// The token says which formation made it.
func BuildVolume(c *v1alpha1.DatabaseCluster, member string) *corev1.PersistentVolumeClaim {
	meta := metaOf(c, v1alpha1.VolumeName(member), memberLabels(c, member))
	meta.Annotations = merged(meta.Annotations, map[string]string{AnnotationToken: token(c)})
	return &corev1.PersistentVolumeClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: meta,
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
