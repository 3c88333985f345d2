package workload

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
)

// BuildVolume is a member's claim. Data outlives the cluster unless its deletion is asked for.
// The token says which formation made it.
func BuildVolume(c *v1alpha1.DatabaseCluster, member string) *corev1.PersistentVolumeClaim {
	meta := kube.ObjectMeta(c, v1alpha1.VolumeName(member), kube.MemberLabels(c, member))
	meta.Annotations = kube.Merged(meta.Annotations, map[string]string{kube.AnnotationToken: kube.Token(c)})
	return &corev1.PersistentVolumeClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: meta,
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			StorageClassName: c.Spec.Storage.ClassName,
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceStorage: c.Spec.Storage.Size}},
		},
	}
}

// FindClaim asks for a claim; ErrNotFound if there is none of that name.
func FindClaim(ctx context.Context, c *kube.Client, namespace, name string) error {
	return c.API.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &corev1.PersistentVolumeClaim{})
}

// ApplyVolume makes a member's claim, or grows it. A repeat changes nothing.
// The token is the present formation's. The claim also gets a copy of the record.
func ApplyVolume(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster, member string) error {
	return c.Apply(ctx, cluster, store.WithCopy(BuildVolume(cluster, member), cluster))
}

// RehearseVolume lets the API server judge what ApplyVolume would write, and
// stores nothing.
func RehearseVolume(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster, member string) error {
	return c.ServerSideApply(ctx, BuildVolume(cluster, member), client.DryRunAll)
}
