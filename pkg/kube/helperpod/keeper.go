package helperpod

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// BuildKeeper is a helper that runs as long as its cluster: never more than one pod at a time.
func BuildKeeper(in Spec) *appsv1.StatefulSet {
	pod := Build(in)
	pod.Spec.ActiveDeadlineSeconds, pod.Spec.RestartPolicy = nil, corev1.RestartPolicyAlways
	return &appsv1.StatefulSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
		ObjectMeta: *pod.ObjectMeta.DeepCopy(),
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: pod.Labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels, Annotations: pod.Annotations}, Spec: pod.Spec,
			},
		},
	}
}

// ApplyKeeper makes or changes a helper that runs as long as its cluster.
func ApplyKeeper(ctx context.Context, c *kube.Client, in Spec) error {
	return c.Apply(ctx, in.Cluster, BuildKeeper(in))
}

// DeleteKeeper ends it. A repeat does nothing.
func DeleteKeeper(ctx context.Context, c *kube.Client, in Spec) error {
	return c.DeleteOwned(ctx, in.Cluster.Name,
		&appsv1.StatefulSet{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
			ObjectMeta: metav1.ObjectMeta{Namespace: in.Namespace, Name: in.Name}},
		client.PropagationPolicy(metav1.DeletePropagationBackground))
}
