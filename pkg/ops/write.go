package ops

import (
	"context"
	"errors"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// writeDown persists a request before its first effect. The order matters:
// the cluster of a create comes first, because a record without a cluster
// could not be continued; for the rest the record comes first, because wanted
// values without a record would have no author. Whatever lies between two of
// these writes when a process dies, the same command finds and completes.
func (r *Runner) writeDown(ctx context.Context, namespace string, p *Prepared, lease kube.Lease) (*v1alpha1.Operation, error) {
	if old := p.Supersedes; old != nil {
		old.Status.Phase, old.Status.Message = v1alpha1.PhaseCancelled, "superseded by "+string(p.Request.Operation.Verb)
		if err := r.Store.UpdateOperation(ctx, old); err != nil {
			return nil, fmt.Errorf("end operation %s: %w", old.Name, err)
		}
	}
	if c := p.Request.Cluster; c != nil {
		c.Namespace = namespace
		if err := r.Store.CreateCluster(ctx, c); err != nil && !errors.Is(err, kube.ErrExists) {
			return nil, fmt.Errorf("write down cluster %s: %w", c.Name, err)
		}
	}
	op := p.Continues
	if op == nil {
		op = p.record(namespace)
		// The look that found no other operation may be old: a process can stand
		// still for longer than its lease.
		if err := lease.Check(ctx); err != nil {
			return nil, fmt.Errorf("check the lease before the operation is written down: %w", err)
		}
		if err := r.Store.CreateOperation(ctx, op); err != nil {
			return nil, fmt.Errorf("write down the operation: %w", err)
		}
	} else if op.Status.Phase == v1alpha1.PhasePaused {
		op.Status.Phase = v1alpha1.PhaseRunning
	}
	return op, r.continueRecord(ctx, op)
}

// continueRecord makes the cluster want what the record asks for, and the
// record say that it runs.
func (r *Runner) continueRecord(ctx context.Context, op *v1alpha1.Operation) error {
	op.Status.Message = ""
	if err := r.Store.UpdateOperation(ctx, op); err != nil {
		return fmt.Errorf("write down that operation %s goes on: %w", op.Name, err)
	}
	c, err := r.Store.GetCluster(ctx, op.Namespace, op.Spec.Cluster)
	if errors.Is(err, kube.ErrNotFound) && op.Spec.Verb == v1alpha1.VerbDelete {
		return nil
	}
	if err != nil {
		return err
	}
	if !want(c, op) {
		return nil
	}
	if err := r.Store.UpdateCluster(ctx, c); err != nil {
		return fmt.Errorf("write down what %s is to become: %w", c.Name, err)
	}
	return nil
}
