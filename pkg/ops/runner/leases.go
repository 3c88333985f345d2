package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/lease"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// start writes a request down, and returns the record under the lease that it is carried out under. Whatever begins
// has the lease of the cluster at that moment, so that no two beginnings miss each other. A backup gives it back then,
// and is carried out under its own lease, which it takes first: a second command for one backup never comes to its
// record. A process that dies between any two of these acts leaves leases that expire, and a record that the same
// command, or resume, takes up.
func (r *Runner) start(ctx context.Context, namespace string, req planner.Request) (*v1alpha1.Operation, lease.Lease,
	error) {
	cluster := req.Operation.Cluster
	if scopeOf(req.Operation.Verb) == lease.Cluster {
		held, err := r.lock(ctx, namespace, cluster, lease.Cluster)
		if err != nil {
			return nil, nil, err
		}
		op, err := r.begin(ctx, namespace, req, held)
		if err != nil {
			giveBack(ctx, held)
			return nil, nil, err
		}
		return op, held, nil
	}
	own, err := r.lock(ctx, namespace, cluster, lease.Backup)
	if err != nil {
		return nil, nil, err
	}
	op, err := r.again(ctx, namespace, req, own)
	if op == nil && err == nil {
		op, err = r.beginBeside(ctx, namespace, req)
	}
	if err != nil {
		giveBack(ctx, own)
		return nil, nil, err
	}
	return op, own, nil
}

// again continues the backup in flight that the request asks for. It begins nothing, and so takes no lease of the
// cluster: an ordinary operation may have that. It returns nil if there is none.
func (r *Runner) again(ctx context.Context, namespace string, req planner.Request,
	own lease.Lease) (*v1alpha1.Operation, error) {
	f, err := r.flight(ctx, namespace, req.Operation.Cluster)
	if err != nil || f.Backup == nil || !planner.Verbs().Continues(req.Operation, f.Backup) {
		return nil, err
	}
	p, err := r.prepare(ctx, namespace, req, alreadyHeld)
	if err != nil || p.Continues == nil {
		return nil, err
	}
	return r.accept(ctx, namespace, p, own)
}

// beginBeside writes a backup down under the lease of the cluster.
func (r *Runner) beginBeside(ctx context.Context, namespace string, req planner.Request) (*v1alpha1.Operation, error) {
	held, err := r.lock(ctx, namespace, req.Operation.Cluster, lease.Cluster)
	if err != nil {
		return nil, err
	}
	defer giveBack(ctx, held)
	p, err := r.prepare(ctx, namespace, req, alreadyHeld)
	if err != nil {
		return nil, err
	}
	return r.accept(ctx, namespace, p, held)
}

// alreadyHeld is what a backup is told of the lease of backups: it is its own.
func alreadyHeld(context.Context) error { return nil }

// lockFlight returns what resume and cancel act on, under its lease; without anything in flight, the lease of the
// cluster. To cancel a backup does not wait for the process that takes it: that is asked to step back.
func (r *Runner) lockFlight(ctx context.Context, namespace, cluster string, cancel bool) (*v1alpha1.Operation,
	lease.Lease, error) {
	for try := 1; ; try++ {
		f, err := r.flight(ctx, namespace, cluster)
		if err != nil {
			return nil, nil, err
		}
		first := f.First()
		scope := ScopeOf(first)
		held, err := r.lock(ctx, namespace, cluster, scope)
		if errors.Is(err, lease.ErrHeld) && cancel && scope == lease.Backup {
			held, err = r.wrest(ctx, first, wrestWithin)
		}
		if err != nil {
			return nil, nil, err
		}
		now, err := r.flight(ctx, namespace, cluster)
		if err == nil && nameOf(now.First()) == nameOf(first) {
			if cancel {
				r.noteBeside(now)
			}
			return now.First(), held, nil
		}
		giveBack(ctx, held)
		switch {
		case err != nil:
			return nil, nil, err
		case cancel && first != nil && now.First() == nil:
			return nil, nil, &ops.Error{Kind: ops.Unchanged, Message: "operation " + first.Name + " is over"}
		case try == ops.Attempts:
			return nil, nil, &ops.Error{Kind: ops.Busy, Check: "operation",
				Message: "what is in flight of " + cluster + " changes all the time",
				Hint:    "kubectl dbop status " + cluster + "; then repeat the command"}
		}
	}
}

// noteBeside says that a backup goes on, although what is beside it is cancelled.
func (r *Runner) noteBeside(f ops.Flight) {
	if f.Ordinary != nil && f.Backup != nil {
		r.Reporter.Note(ops.InNamespace(fmt.Sprintf("backup %s goes on; once this is cancelled, kubectl dbop cancel %s "+
			"stops the backup as well", f.Backup.Spec.Backup, f.Backup.Spec.Cluster), f.Backup.Namespace))
	}
}

// How long a process that takes a backup is given to stop, and how often it is asked for its lease.
const (
	wrestWithin = time.Minute
	wrestPause  = time.Second
)

// wrest has the process that takes a backup step back, and takes its lease once that has stopped. The record says that
// it is being cancelled from then on, so that nobody goes on with it, whatever becomes of this process.
func (r *Runner) wrest(ctx context.Context, backup *v1alpha1.Operation, within time.Duration) (lease.Lease, error) {
	if err := r.markCancelling(ctx, backup); err != nil {
		return nil, err
	}
	for began := time.Now(); ; {
		held, err := r.lock(ctx, backup.Namespace, backup.Spec.Cluster, lease.Backup)
		if !errors.Is(err, lease.ErrHeld) || time.Since(began) > within {
			return held, err
		}
		timer := time.NewTimer(wrestPause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, context.Cause(ctx)
		}
	}
}

// markCancelling writes into the record of a backup that it is to step back. One that ended stays as it is.
func (r *Runner) markCancelling(ctx context.Context, backup *v1alpha1.Operation) error {
	return ops.Retry(ctx, func() error {
		stored, err := r.Store.GetOperation(ctx, backup.Namespace, backup.Name)
		if err != nil || !stored.Active() || stored.Status.Phase == v1alpha1.PhaseCancelling {
			return err
		}
		stored.Status.Phase = v1alpha1.PhaseCancelling
		return r.Store.UpdateOperation(ctx, stored)
	}, kube.ErrNotFound)
}

// lock takes a lease, or says who has it.
func (r *Runner) lock(ctx context.Context, namespace, cluster string, scope lease.Scope) (lease.Lease, error) {
	held, err := r.Lock(ctx, namespace, cluster, scope, func(holder string, left time.Duration) {
		r.Reporter.Note(fmt.Sprintf("the lease of %s is held by %s, which does not renew it; taking over in %s",
			cluster, holder, left.Round(time.Second)))
	})
	return held, busy(err)
}

// flight is what is in flight of a cluster.
func (r *Runner) flight(ctx context.Context, namespace, cluster string) (ops.Flight, error) {
	return FlightOf(ctx, r.Store, namespace, cluster)
}

// FlightOf reads what is in flight of a cluster. It is one request.
func FlightOf(ctx context.Context, s store.Store, namespace, cluster string) (ops.Flight, error) {
	active, err := s.ActiveOperations(ctx, namespace, cluster)
	return planner.Verbs().Flight(active), err
}

// ScopeOf is the lease under which an operation is carried out; that of the cluster for nil.
func ScopeOf(op *v1alpha1.Operation) lease.Scope {
	if op == nil {
		return lease.Cluster
	}
	return scopeOf(op.Spec.Verb)
}

// scopeOf is the lease that an operation is carried out under.
func scopeOf(verb v1alpha1.Verb) lease.Scope {
	if planner.OperationOf(verb).Manners().Alongside {
		return lease.Backup
	}
	return lease.Cluster
}

func nameOf(op *v1alpha1.Operation) string {
	if op == nil {
		return ""
	}
	return op.Name
}
