package helperpod

import (
	"context"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// BuildKeeper is a helper that runs as long as its cluster: never more than one pod at a time, and none while it is
// idle.
func BuildKeeper(in Spec, idle bool) *appsv1.StatefulSet {
	pod := Build(in)
	pod.Spec.ActiveDeadlineSeconds, pod.Spec.RestartPolicy = nil, corev1.RestartPolicyAlways
	selector := maps.Clone(pod.Labels) // it can't be changed, and the repository can
	delete(selector, v1alpha1.LabelClaim)
	replicas := int32(1)
	if idle {
		replicas = 0
	}
	return &appsv1.StatefulSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
		ObjectMeta: *pod.ObjectMeta.DeepCopy(),
		Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: selector},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels, Annotations: pod.Annotations}, Spec: pod.Spec,
			},
		},
	}
}

// DeleteKeeper ends a helper that runs as long as its cluster. A repeat does nothing.
func DeleteKeeper(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster, name string) error {
	return c.DeleteOwned(ctx, cluster.Name,
		&appsv1.StatefulSet{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
			ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace, Name: name}},
		client.PropagationPolicy(metav1.DeletePropagationBackground))
}
