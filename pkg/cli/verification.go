package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// verifier proves one backup, turn by turn. engine.ErrNotReady asks for another turn.
type verifier interface {
	Turn(ctx context.Context, r repository.Repository, id string, report func(bytes, total int64)) error
	Close() error
}

// verify takes turns until the backup is proven. It needs no lease and no
// record: it touches no cluster, and a repeat finds the same throw-away member.
func (c *change) verify(ctx context.Context, in intent, plan ops.Plan, r repository.Repository,
	m repository.Manifest) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	reporter := c.f.newReporter(c.progress)
	defer reporter.Close()
	v, err := c.f.newVerifier(runnerOptions{engine: in.engine, wanted: in.request.Cluster, reporter: reporter})
	if err != nil {
		return err
	}
	defer func() { _ = v.Close() }()
	step, began, why := plan.Steps[0], time.Now(), ""
	reporter.Planned(plan)
	reporter.Started(step)
	for {
		err := v.Turn(ctx, r, m.ID, func(n, total int64) { reporter.Progress(step, n, total) })
		if !errors.Is(err, engine.ErrNotReady) {
			reporter.Done(step, time.Since(began), err)
			if err != nil {
				return fmt.Errorf("verify backup %s: %w", m.ID, err)
			}
			return nil
		}
		if why != err.Error() {
			why = err.Error()
			reporter.Waiting(step, why)
		}
		select {
		case <-time.After(pollEvery):
		case <-ctx.Done():
			return fmt.Errorf("verify backup %s: %s: %w", m.ID, why, context.Cause(ctx))
		}
	}
}

// standIn is what is left to know of a cluster that is gone.
func standIn(namespace string, m repository.Manifest) *v1alpha1.DatabaseCluster {
	c := &v1alpha1.DatabaseCluster{}
	c.Name, c.Namespace = m.Cluster, namespace
	c.Spec.Engine, c.Spec.Version, c.Spec.Members = m.Engine, m.Version, 1
	return c
}
