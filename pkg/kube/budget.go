package kube

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

func budgetName(cluster string) string { return cluster }

// BuildBudget is the disruption budget that keeps evictions from taking more
// members than the cluster can miss. A member that is not healthy anyway may
// be evicted only while the budget is met: it may be about to recover.
func BuildBudget(c *v1alpha1.DatabaseCluster, minAvailable int32) *policyv1.PodDisruptionBudget {
	available, policy := intstr.FromInt32(minAvailable), policyv1.IfHealthyBudget
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: metaOf(c, budgetName(c.Name), objectLabels(c, componentDatabase)),
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable:               &available,
			Selector:                   &metav1.LabelSelector{MatchLabels: memberSelector(c.Name)},
			UnhealthyPodEvictionPolicy: &policy,
		},
	}
}
