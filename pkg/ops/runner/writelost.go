package runner

import (
	"context"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// writeLost writes a lost record again while another operation is in flight:
// that one could not be resumed without it, and no repair could begin before it ends.
func (r *Runner) writeLost(ctx context.Context, namespace string, req planner.Request) error {
	c := req.Cluster
	if c == nil || req.Operation.Verb != v1alpha1.VerbRepair {
		return nil
	}
	flight, err := r.flight(ctx, namespace, c.Name)
	active := flight.Ordinary
	if err != nil || active == nil || active.Spec.Verb == v1alpha1.VerbRepair || active.Spec.Verb == v1alpha1.VerbDelete {
		return err
	}
	if err := r.Store.CreateCluster(ctx, c); err != nil {
		return fmt.Errorf("write the record of %s again: %w", c.Name, err)
	}
	r.Reporter.Note("The record of " + c.Name + " is written again.")
	return planner.Verbs().InFlight(active, c)
}
