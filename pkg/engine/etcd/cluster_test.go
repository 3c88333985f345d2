package etcd

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

func cluster() *v1alpha1.DatabaseCluster {
	return &v1alpha1.DatabaseCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "db", Namespace: "prod"},
		Spec: v1alpha1.DatabaseClusterSpec{
			Storage: v1alpha1.Storage{Size: resource.MustParse("8Gi")},
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")},
			},
		},
		Status: v1alpha1.DatabaseClusterStatus{Bootstrap: &v1alpha1.Bootstrap{Token: "db-token"}},
	}
}
