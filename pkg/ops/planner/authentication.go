package planner

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// bornWith is whether a cluster that founds itself demands a login: if its
// engine always does, or its data comes from a backup that does.
func bornWith(e engine.Engine, s ops.State) string {
	if e.Capabilities().Login || s.Operation != nil && s.Operation.Spec.Source != nil && s.Operation.Spec.Source.Auth {
		return engine.AuthOn
	}
	return engine.AuthOff
}
