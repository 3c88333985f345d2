package workload

import (
	"context"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// BudgetName is the name of the disruption budget of a cluster.
func BudgetName(cluster string) string { return cluster }

// BuildBudget is the disruption budget that keeps evictions from taking more
// members than the cluster can miss. A member that is not healthy anyway may
// be evicted only while the budget is met: it may be about to recover.
func BuildBudget(c *v1alpha1.DatabaseCluster, minAvailable int32) *policyv1.PodDisruptionBudget {
	available, policy := intstr.FromInt32(minAvailable), policyv1.IfHealthyBudget
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: kube.ObjectMeta(c, BudgetName(c.Name), kube.ObjectLabels(c, kube.ComponentDatabase)),
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable:               &available,
			Selector:                   &metav1.LabelSelector{MatchLabels: kube.MemberSelector(c.Name)},
			UnhealthyPodEvictionPolicy: &policy,
		},
	}
}

// ApplyBudget makes or changes the disruption budget; 0 removes it. A repeat changes nothing.
func ApplyBudget(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster, minAvailable int32) error {
	b := BuildBudget(cluster, minAvailable)
	if minAvailable > 0 {
		return c.Apply(ctx, cluster, b)
	}
	return c.DeleteOwned(ctx, cluster.Name, b)
}
