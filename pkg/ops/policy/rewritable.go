package policy

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// rewritable reports whether a lost or damaged record is written again without
// being asked for: it is clear what it said, and that its cluster was of this very
// object. While an operation is in flight that changes which data is the
// cluster's, or ends it, the copies may be older than the record was.
func (g Input) rewritable() bool {
	c := g.Kept.Record
	if g.Custom == nil || g.Custom.DeletionTimestamp != nil || g.Custom.Spec.Paused || g.Record != nil || !g.Kept.Clear ||
		c.Annotations[v1alpha1.AnnotationCustom] != string(g.Custom.UID) || c.Status.Bootstrap.ClusterID == "" ||
		!g.Kept.Lost() && !c.Spec.Stopped {
		return false
	}
	if g.Active == nil {
		return true
	}
	active := planner.OperationOf(g.Active.Spec.Verb).Manners()
	return !active.NewData && !active.Ends
}
