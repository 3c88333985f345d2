package workload

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
)

func TestBuildServices(t *testing.T) {
	made := BuildServices(kubetest.Cluster(), []corev1.ServicePort{{Name: "client", Port: 2379},
		{Name: "peer", Port: 2380}})
	kubetest.Golden(t, "service-headless", made[0])
	kubetest.Golden(t, "service-client", made[1])
	made = BuildServices(kubetest.Cluster(), []corev1.ServicePort{{Name: "client", Port: 5432},
		{Name: "readonly", Port: 5432, TargetPort: intstr.FromString("replicas")}})
	if len(made) != 3 || len(made[0].Spec.Ports) != 1 {
		t.Fatalf("%d services, and the headless one has the ports %v", len(made), made[0].Spec.Ports)
	}
	kubetest.Golden(t, "service-readonly", made[1])
}
