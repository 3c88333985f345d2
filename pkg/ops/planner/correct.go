package planner

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// correct copies what may have kept a cluster from forming, and what no
// operation can change before there is a cluster.
func correct(want v1alpha1.DatabaseClusterSpec, c *v1alpha1.DatabaseCluster) {
	if !ops.Unformed(c) {
		return
	}
	w := want.DeepCopy()
	c.Spec.Image, c.Spec.Version, c.Spec.Resources, c.Spec.Config = w.Image, w.Version, w.Resources, w.Config
}

// corrected predicts a member with the corrected spec.
func corrected(s *ops.State, name, settings string) {
	m := &s.Kube.Members[s.MemberIndex(name)]
	m.Workload.Rendering, m.Workload.Settings, m.Workload.Version = s.Rendering, settings, s.Cluster.Spec.Version
	m.Pod = observe.Pod{}
}
