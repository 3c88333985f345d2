package workload

import (
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
)

func TestBuildBudget(t *testing.T) {
	kubetest.Golden(t, "budget", BuildBudget(kubetest.Cluster(), 2))
}
