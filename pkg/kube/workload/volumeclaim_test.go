package workload

import (
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
)

func TestBuildVolume(t *testing.T) {
	kubetest.Golden(t, "volume", BuildVolume(kubetest.Cluster(), "db-2"))
}

func TestBuildVolumeBeforeBootstrap(t *testing.T) {
	c := kubetest.Cluster()
	c.Status.Bootstrap = nil
	if got := BuildVolume(c, "db-1").Annotations[kube.AnnotationToken]; got != "" {
		t.Errorf("token %q without a formation", got)
	}
}
