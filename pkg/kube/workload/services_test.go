package workload

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
)

func TestBuildServices(t *testing.T) {
	headless, clients := BuildServices(kubetest.Cluster(), []corev1.ServicePort{{Name: "client", Port: 2379},
		{Name: "peer", Port: 2380}})
	kubetest.Golden(t, "service-headless", headless)
	kubetest.Golden(t, "service-client", clients)
}
