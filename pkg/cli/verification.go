package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// verify waits until the backup is proven. It needs no lease and no record: it
// touches no cluster, and a repeat finds the same throw-away member.
func (c *change) verify(ctx context.Context, in intent, plan ops.Plan, r repository.Repository,
	m repository.Manifest) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	reporter := c.f.newReporter(c.progress)
	defer reporter.Close()
	step, began := plan.Steps[0], time.Now()
	reporter.Planned(plan)
	reporter.Started(step)
	err := c.f.Clients.Verify(ctx, Verification{Engine: in.engine, Like: in.request.Cluster, Repository: r, Backup: m.ID,
		Progress: func(n, total int64) { reporter.Progress(step, n, total) },
		Waiting:  func(why string) { reporter.Waiting(step, why) }})
	reporter.Done(step, time.Since(began), err)
	if err != nil {
		return fmt.Errorf("verify backup %s: %w", m.ID, err)
	}
	return nil
}

// standIn is what is left to know of a cluster that is gone.
func standIn(namespace string, m repository.Manifest) *v1alpha1.DatabaseCluster {
	c := &v1alpha1.DatabaseCluster{}
	c.Name, c.Namespace = m.Cluster, namespace
	c.Spec.Engine, c.Spec.Version, c.Spec.Members = m.Engine, m.Version, 1
	return c
}
