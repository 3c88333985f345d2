package planner

import (
	"cmp"

	"k8s.io/apimachinery/pkg/api/equality"

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

// Correct has a record of a cluster that has yet to form for the first time say what is requested now, as far as that
// can still be changed, and reports whether it said something else. What comes from the environment of the command
// stays where nothing is asked for. A repeat changes nothing. The object of a cluster with a custom resource overrules.
func Correct(want v1alpha1.DatabaseClusterSpec, c *v1alpha1.DatabaseCluster) bool {
	if !ops.Unformed(c) || c.Managed() {
		return false
	}
	before := c.Spec.DeepCopy()
	correct(want, c)
	for have, asked := range map[*string]string{&c.Spec.Registry: want.Registry, &c.Spec.HelperImage: want.HelperImage,
		&c.Spec.AntiAffinity: want.AntiAffinity, &c.Spec.Backup.Repository: want.Backup.Repository} {
		*have = cmp.Or(asked, *have)
	}
	return !equality.Semantic.DeepEqual(before, &c.Spec)
}

// corrected predicts a member with the corrected spec.
func corrected(s *ops.State, name, settings string) {
	m := &s.Kube.Members[s.MemberIndex(name)]
	m.Workload.Rendering, m.Workload.Settings, m.Workload.Version = s.Rendering, settings, s.Cluster.Spec.Version
	m.Pod = observe.Pod{}
}
