package rules

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
)

// Paused keeps everybody from acting on a cluster that a person paused. A loop
// on its way meets it before its next step, gives its lease back and leaves a
// paused record.
func (p Situation) Paused() *ops.Decision {
	if !p.S.Cluster.Spec.Paused {
		return nil
	}
	return Block(&ops.Error{Kind: ops.Refused, Check: "paused",
		Message: fmt.Sprintf("%s is paused: %s asked that nobody acts on it", p.S.Cluster.Name,
			health.PausedBy(p.S.Cluster)),
		Hint: "kubectl dbop resume " + p.S.Cluster.Name + " lifts that, and continues what is in flight"})
}
