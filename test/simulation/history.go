package simulation

import (
	"context"
	"strconv"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// compact drops history up to the revision that was written down.
func (s *site) compact(ctx context.Context, st ops.State, step ops.Step) (ops.Result, error) {
	w, before := s.actor.world, st.Operation.Spec.Compaction.Before
	err := s.do(ctx, step.ID, func() error {
		g, _, err := w.asked(s.cluster, st.Cluster.Status.Bootstrap.Token)
		if err != nil {
			return err
		}
		if before < 1 || before > int64(g.index) {
			w.violate("%s drops the history of %s before %d, of %d", s.actor.name, s.cluster, before, g.index)
		}
		g.compacted = max(g.compacted, before)
		g.history = false
		return nil
	})
	if err != nil {
		return ops.Result{}, err
	}
	return ops.Result{Facts: map[string]string{v1alpha1.FactCompacted: strconv.FormatInt(before, 10)}}, nil
}

// droppedHistory checks that an operation which says so has dropped history.
func (w *world) droppedHistory(o *v1alpha1.Operation, g *group) {
	if c := o.Spec.Compaction; o.Spec.Verb == v1alpha1.VerbCompact && o.Status.Phase == v1alpha1.PhaseSucceeded &&
		g.compacted < c.Before {
		w.violate("%s succeeded and history is kept from %d on, not from %d", o.Name, g.compacted, c.Before)
	}
}
