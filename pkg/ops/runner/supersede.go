package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/lease"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/backups"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// mayGiveWay judges whether a replacement may take over from the operation that
// it would put an end to, by what was observed for it.
func (r *Runner) mayGiveWay(p *planner.Prepared, c *v1alpha1.DatabaseCluster) error {
	old := p.Supersedes
	if old == nil || ops.Untouched(old) {
		return nil
	}
	if planner.Verbs().SucceedsIn(p.Request.Operation, old) {
		if rules.AuthorityOver(p.State) {
			return nil
		}
		return planner.Verbs().InFlight(old, c)
	}
	if !planner.Verbs().ReplacesIn(p.Request.Operation, old) {
		return nil // it gives way to whatever comes
	}
	s := planner.Clone(p.State)
	s.Cluster, s.Operation = c.DeepCopy(), old.DeepCopy()
	s.Cluster.Spec.Paused = false
	d := r.decider()(r.Engine, s)
	if d.Blocked != nil && planner.For(r.Engine, s).GivesWay(p.Request.Operation.Member) {
		return nil
	}
	e := planner.Verbs().InFlight(old, c)
	if old.Status.Phase == v1alpha1.PhaseCancelling {
		e.Hint = fmt.Sprintf(
			"continue it first: kubectl dbop resume %s, or kubectl dbop cancel %s; a replacement takes over where neither "+
				"goes on for want of that member", old.Spec.Cluster, old.Spec.Cluster)
	} else {
		e.Hint = fmt.Sprintf(
			"step back first: kubectl dbop cancel %s; a replacement takes over where that does not go on for want of "+
				"the member",
			old.Spec.Cluster)
	}
	return e
}

// stopsFirst are the steps that stop the Jobs of the backups that the request puts an end to.
func stopsFirst(p *planner.Prepared) []ops.Step {
	var out []ops.Step
	for _, old := range p.Ended() {
		if step := stopsJob(old); step != nil {
			out = append(out, *step)
		}
	}
	return out
}

// stopsJob is the step that stops the Job which takes the backup of an operation; nil where none does.
func stopsJob(old *v1alpha1.Operation) *ops.Step {
	if !ops.JobStarted(old) {
		return nil
	}
	step := backups.StopJob(old)
	step.Title += fmt.Sprintf(" %s to %s", old.Spec.Backup, old.Spec.Repository)
	return &step
}

// onlyBacksUp reports whether a Job takes the backup that is all an operation wants: what changes nothing leaves it.
func onlyBacksUp(op *v1alpha1.Operation) bool {
	return ops.JobStarted(op) && planner.OperationOf(op.Spec.Verb).Traits().OnlyReads
}

// stopFirst stops the Job of the backup that the request puts an end to, before anything says that it ended: two
// backups of a cluster do not overlap, and no member restarts under one. A crash on the way leaves the record in
// flight, so that the next request finds it and does the same. What ends or recovers the cluster does not wait for the
// pod: its node may be lost, and the Job makes no other.
func (r *Runner) stopFirst(ctx context.Context, p *planner.Prepared, old *v1alpha1.Operation,
	held lease.Lease) error {
	step := stopsJob(old)
	if step == nil {
		return nil
	}
	s := r.session(old, held, false)
	defer closeQuietly(s.cluster)
	ctx, cancel := s.holding(ctx)
	defer cancel()
	within, late := context.WithTimeout(ctx, step.Deadline)
	defer late()
	state := planner.Clone(p.State)
	state.Operation = old.DeepCopy()
	manners := planner.OperationOf(p.Request.Operation.Verb).Manners()
	r.Reporter.Started(*step)
	began := time.Now()
	err := ops.Retry(within, func() error {
		if err := held.Check(within); err != nil {
			return err
		}
		_, err := s.cluster.Perform(within, state, *step, func(int64, int64) {})
		if !errors.Is(err, engine.ErrNotReady) {
			return err
		}
		if manners.Ends || manners.Recovers {
			return nil
		}
		r.Reporter.Waiting(*step, strings.TrimSuffix(err.Error(), ": "+engine.ErrNotReady.Error()))
		return err
	})
	what := fmt.Sprintf("stop the job of backup %s, which operation %s of %s takes", old.Spec.Backup, old.Name,
		old.Spec.Cluster)
	if errors.Is(err, engine.ErrNotReady) {
		err = &ops.Error{Kind: ops.NotYet, Check: "deadline", Message: fmt.Sprintf("%s: tried for %s", what, step.Deadline),
			Hint: fmt.Sprintf("kubectl get pods -n %s -l %s=%s -o yaml shows what keeps its pod; then repeat the command",
				old.Namespace, v1alpha1.LabelCluster, old.Spec.Cluster), Err: err}
	} else if err != nil {
		err = fmt.Errorf("%s: %w", what, err)
	}
	r.Reporter.Done(*step, time.Since(began), err)
	return err
}
