package planner

import (
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube/drift"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// archived predicts what archives the log as it is wanted.
func archived(p rules.Situation, s *ops.State, step ops.Step) {
	s.Kube.Archive = observe.Workload{}
	if step.Action == ops.ActionArchive {
		s.Kube.Archive = observe.Workload{Exists: true, Idle: s.Cluster.Spec.Stopped, Settings: p.Archive().Digest()}
	}
	s.Kube.Differences = slices.DeleteFunc(slices.Clone(s.Kube.Differences),
		func(d drift.Difference) bool { return health.OfArchive(*s, d) })
}
