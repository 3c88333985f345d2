package policy

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// SyncSettings is the function Inherit for the custom resource, and corrects the
// size of volumes as long as none was made. Later it takes a resize.
func (g Input) SyncSettings(c *v1alpha1.DatabaseCluster) bool {
	changed := planner.SyncSettings(g.Custom.Spec, c, g.Agents)
	size := g.Custom.Spec.Storage.Size
	if !ops.Unformed(c) || c.Spec.Storage.Size.Cmp(size) == 0 || g.Active != nil &&
		(rules.Situation{S: ops.State{Operation: g.Active}}).Began(ops.ActionStart) {
		return changed
	}
	c.Spec.Storage.Size = size.DeepCopy()
	return true
}
