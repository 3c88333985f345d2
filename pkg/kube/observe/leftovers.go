package observe

import (
	"context"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// Leftovers names the clusters of which a namespace holds members' StatefulSets,
// or, where there are none, volumes: with a record or without. Two requests.
func Leftovers(ctx context.Context, c *kube.Client, namespace string) ([]string, error) {
	names := map[string]bool{}
	for _, kind := range []schema.GroupVersionKind{appsv1.SchemeGroupVersion.WithKind("StatefulSetList"),
		corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaimList")} {
		var all metav1.PartialObjectMetadataList
		all.SetGroupVersionKind(kind)
		if err := c.API.List(ctx, &all, client.InNamespace(namespace),
			client.HasLabels{v1alpha1.LabelCluster}); err != nil {
			return nil, err
		}
		for i := range all.Items {
			names[all.Items[i].Labels[v1alpha1.LabelCluster]] = true
		}
		if len(names) > 0 {
			break
		}
	}
	return slices.Sorted(maps.Keys(names)), nil
}
