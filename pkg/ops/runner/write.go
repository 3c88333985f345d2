package runner

import (
	"context"
	"errors"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/lease"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// supersededBy is how the message of a record begins that another request ended.
const supersededBy = "superseded by "

// checkSuperseded marks the error about it.
const checkSuperseded = "superseded"

// begin writes a request down. One that asks for nothing the members lack, an
// option given its own default for example, is what the cluster wants from then on.
func (r *Runner) begin(ctx context.Context, namespace string, req planner.Request,
	lease lease.Lease) (*v1alpha1.Operation, error) {
	if err := r.writeLost(ctx, namespace, req); err != nil {
		return nil, err
	}
	backup := &backupLease{runner: r, namespace: namespace, cluster: req.Operation.Cluster}
	defer backup.giveBack(ctx)
	p, err := r.prepare(ctx, namespace, req, backup.take)
	if err != nil {
		return nil, err
	}
	if err := r.endBackup(ctx, p, backup, lease); err != nil {
		return nil, err
	}
	op, err := r.accept(ctx, namespace, p, lease)
	if err == nil || ops.KindOf(err) != ops.Unchanged || p.Request.Cluster != nil {
		return op, err
	}
	agreed := ops.Retry(ctx, func() error {
		c, err := r.Store.GetCluster(ctx, namespace, req.Operation.Cluster)
		if err != nil || !planner.ApplyTo(c, p.Record(namespace)) {
			return err
		}
		return r.Store.UpdateCluster(ctx, c)
	})
	return nil, errors.Join(err, agreed)
}

// accept writes a request down that was prepared under the lease.
func (r *Runner) accept(ctx context.Context, namespace string, p *planner.Prepared,
	lease lease.Lease) (*v1alpha1.Operation, error) {
	if p.Plan.Unchanged() && p.Continues == nil {
		if old := p.Supersedes; old != nil && ops.Untouched(old) && !onlyBacksUp(old) {
			if err := r.supersede(ctx, p, lease); err != nil {
				return nil, err
			}
		}
		return nil, &ops.Error{Kind: ops.Unchanged, Message: p.Request.Operation.Cluster + " is as requested already"}
	}
	op, err := r.writeDown(ctx, namespace, p, lease)
	if err != nil {
		return nil, err
	}
	r.Reporter.Planned(p.Plan)
	return op, nil
}

// writeDown persists a request before its first effect. The order matters:
// the cluster of a create comes first, because a record without a cluster
// could not be continued; for the rest the record comes first, because wanted
// values without a record would have no author. Whatever lies between two of
// these writes when a process dies, the same command finds and completes.
func (r *Runner) writeDown(ctx context.Context, namespace string, p *planner.Prepared,
	lease lease.Lease) (*v1alpha1.Operation, error) {
	if err := r.supersede(ctx, p, lease); err != nil {
		return nil, err
	}
	if c := p.Request.Cluster; c != nil && c.ResourceVersion == "" { // else it is written down already
		c.Namespace = namespace
		if err := ops.Retry(ctx, func() error { return r.Store.CreateCluster(ctx, c) }); err != nil &&
			!errors.Is(err, kube.ErrExists) {
			return nil, fmt.Errorf("write down cluster %s: %w", c.Name, err)
		}
	}
	if err := r.correct(ctx, namespace, p, lease); err != nil {
		return nil, err
	}
	op := p.Continues
	if op == nil {
		op = p.Record(namespace)
		if err := r.createRecord(ctx, op, lease); err != nil {
			return nil, fmt.Errorf("write down the operation: %w", err)
		}
	} else if op.Status.Phase == v1alpha1.PhasePaused {
		op.Status.Phase = v1alpha1.PhaseRunning
	}
	return op, r.continueRecord(ctx, op, lease)
}

// correct writes down what is requested now of a cluster that has yet to form. A process that dies right after it
// leaves the record of the creation as it was: who continues that goes on with what is requested now.
func (r *Runner) correct(ctx context.Context, namespace string, p *planner.Prepared, lease lease.Lease) error {
	if !p.Corrects {
		return nil
	}
	name := p.Request.Operation.Cluster
	if err := ops.Retry(ctx, func() error {
		c, err := r.Store.GetCluster(ctx, namespace, name)
		if err != nil || !planner.Correct(p.Request.Cluster.Spec, c) {
			return err
		}
		if err := lease.Check(ctx); err != nil {
			return fmt.Errorf("check the lease: %w", err)
		}
		return r.Store.UpdateCluster(ctx, c)
	}); err != nil {
		return fmt.Errorf("write down what is requested of cluster %s now: %w", name, err)
	}
	return nil
}

// supersede ends the record that the request takes over from.
func (r *Runner) supersede(ctx context.Context, p *planner.Prepared, lease lease.Lease) error {
	if p.Supersedes == nil {
		return nil
	}
	return r.endRecord(ctx, p, p.Supersedes, lease)
}

// endRecord stops what an operation in flight has under way without a process, and says in its record who ended it.
func (r *Runner) endRecord(ctx context.Context, p *planner.Prepared, old *v1alpha1.Operation, lease lease.Lease) error {
	if err := r.stopFirst(ctx, p, old, lease); err != nil {
		return err
	}
	if ops.Untouched(old) {
		if err := r.revertRecord(ctx, old, lease); err != nil {
			return fmt.Errorf("take back what operation %s asked for: %w", old.Name, err)
		}
	}
	old.Status.Phase, old.Status.Message = v1alpha1.PhaseCancelled, supersededBy+string(p.Request.Operation.Verb)
	if err := r.save(ctx, old); err != nil {
		return fmt.Errorf("end operation %s: %w", old.Name, err)
	}
	return nil
}

// continueRecord makes the cluster want what the record asks for, and the
// record say that it runs.
func (r *Runner) continueRecord(ctx context.Context, op *v1alpha1.Operation, lease lease.Lease) error {
	op.Status.Message = ""
	if err := r.save(ctx, op); err != nil {
		return fmt.Errorf("write down that operation %s goes on: %w", op.Name, err)
	}
	return ops.Retry(ctx, func() error {
		c, err := r.Store.GetCluster(ctx, op.Namespace, op.Spec.Cluster)
		if errors.Is(err, kube.ErrNotFound) && op.Spec.Verb == v1alpha1.VerbDelete {
			return nil
		}
		if err != nil {
			return err
		}
		if !planner.ApplyTo(c, op) {
			return nil
		}
		if err := lease.Check(ctx); err != nil {
			return fmt.Errorf("check the lease before the wish is written down: %w", err)
		}
		if err := r.Store.UpdateCluster(ctx, c); err != nil {
			return fmt.Errorf("write down what %s is to become: %w", c.Name, err)
		}
		return nil
	}, kube.ErrNotFound)
}

// createRecord writes a new record. One of its very name can only be from an
// earlier try whose answer was lost. The check that found no other operation may
// be old, and so may an earlier try: a process can stop for longer than
// its lease.
func (r *Runner) createRecord(ctx context.Context, op *v1alpha1.Operation, lease lease.Lease) error {
	tried := false
	return ops.Retry(ctx, func() error {
		if err := lease.Check(ctx); err != nil {
			return fmt.Errorf("check the lease before the operation is written down: %w", err)
		}
		err := r.Store.CreateOperation(ctx, op)
		if tried && errors.Is(err, kube.ErrExists) {
			stored, err := r.Store.GetOperation(ctx, op.Namespace, op.Name)
			if err != nil {
				return err
			}
			op.ObjectMeta = stored.ObjectMeta
			return nil
		}
		tried = true
		return err
	})
}

func (r *Runner) save(ctx context.Context, op *v1alpha1.Operation) error {
	return ops.Retry(ctx, func() error { return ops.SaveRecord(ctx, r.Store, op) }, kube.ErrConflict)
}
