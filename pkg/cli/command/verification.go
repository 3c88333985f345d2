package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clients"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// Stream makes a backup outside of an operation, and reports as a step of one does.
func (c *Change) Stream(ctx context.Context, plan ops.Plan,
	work func(ctx context.Context, report func(n, total int64)) (repository.Manifest, error)) (repository.Manifest,
	error) {
	reporter := c.Factory.newReporter(c.progress)
	defer reporter.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer c.Factory.Gently(func() { cancel(exit.ErrInterrupted) })()
	step, began := plan.Steps[0], time.Now()
	reporter.Planned(plan)
	reporter.Started(step)
	m, err := work(ctx, func(n, total int64) { reporter.Progress(step, n, total) })
	if err != nil && errors.Is(context.Cause(ctx), exit.ErrInterrupted) {
		err = exit.ErrInterrupted
	}
	reporter.Done(step, time.Since(began), err)
	return m, err
}

// Verify waits until the backup is proven. It needs no lease and no record: it
// touches no cluster, and a repeat finds the same throw-away member.
func (c *Change) Verify(ctx context.Context, in Intent, plan ops.Plan, r repository.Repository,
	m repository.Manifest, level repository.Level) error {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	reporter := c.Factory.newReporter(c.progress)
	defer reporter.Close()
	step, began := plan.Steps[0], time.Now()
	reporter.Planned(plan)
	reporter.Started(step)
	err := c.Factory.Clients.Verify(ctx,
		clients.Verification{Engine: in.Engine, Like: in.Request.Cluster, Repository: r, Backup: m.ID,
			Level: level, By: c.Factory.Clients.Whoami(ctx),
			Progress: func(n, total int64) { reporter.Progress(step, n, total) },
			Waiting:  func(why string) { reporter.Waiting(step, why) }})
	reporter.Done(step, time.Since(began), err)
	if err != nil {
		return fmt.Errorf("verify backup %s: %w", m.ID, err)
	}
	return nil
}

// StandIn is what is left to know of a cluster that is gone.
func StandIn(namespace string, m repository.Manifest) *v1alpha1.DatabaseCluster {
	c := &v1alpha1.DatabaseCluster{}
	c.Name, c.Namespace = m.Cluster, namespace
	c.Spec.Engine, c.Spec.Version, c.Spec.Members = m.Engine, m.Version, 1
	return c
}
