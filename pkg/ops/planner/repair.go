package planner

import (
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/drift"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
)

// repaired predicts an object that was put back.
func repaired(s *ops.State, e engine.Engine, step ops.Step) {
	object := step.Touches[0]
	if strings.HasPrefix(object, health.KindBudget) {
		if n := ops.BudgetOf(e, *s); n > 0 {
			s.Kube.Budget = &n
		}
	}
	for _, d := range s.Kube.Differences {
		if d.Object == object && d.Template() {
			s.Kube.Members[s.MemberIndex(d.Member)].Workload.Revision = "predicted"
		}
	}
	s.Kube.Differences = slices.DeleteFunc(slices.Clone(s.Kube.Differences),
		func(d drift.Difference) bool { return d.Object == object })
}
