// Package pruning decides which backups go from a repository of any kind, and has them go.
package pruning

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
)

// Rule says which backups of a cluster stay.
type Rule struct {
	Namespace, Cluster string
	By                 archive.Retention
	// Needed stay whatever By says, see Needed.
	Needed map[string]bool
	// Engine says which engine has a name.
	Engine func(name string) (engine.Engine, error)
	// Show has the plan tell what goes of the log.
	Show bool
	// Now is when the ages count from, where the repository has no clock of its own.
	Now time.Time
}

// selfPruning is a repository that prunes by itself: by the store's clock, by signatures and by holds.
type selfPruning interface {
	Plan(ctx context.Context, cluster string, in bucket.Pruning) (*archive.Plan, error)
	PlanLog(ctx context.Context, p *archive.Plan) error
	Prune(ctx context.Context, p *archive.Plan) (*archive.Result, error)
}

// Plan says what goes from a repository of any kind; it deletes nothing. What is damaged is returned beside it: it
// stays, and is no reason for another to go.
func Plan(ctx context.Context, repo repository.Repository, in Rule) (*archive.Plan, []*repository.Damaged,
	error) {
	if own, ok := repo.(selfPruning); ok {
		p, err := own.Plan(ctx, in.Cluster, bucket.Pruning{By: in.By, Keep: in.Needed, Engine: in.Engine})
		if err == nil && in.Show {
			err = own.PlanLog(ctx, p)
		}
		return p, nil, err
	}
	all, err := repo.List(ctx, in.Cluster)
	damaged, err := repository.SplitDamaged(err)
	if err != nil {
		return nil, nil, fmt.Errorf("list the backups of %s in %s: %w", in.Cluster, repo.URL(), err)
	}
	p := &archive.Plan{Decisions: repository.Judge(all, in.Cluster, in.Namespace, in.By, in.Now)}
	for id := range in.Needed {
		p.Keep(id, "somebody is about to load it")
	}
	return p, damaged, nil
}

// Prune does what a plan for that repository says. Each deletion is whole or not at all, and a repeat reads what is
// left.
func Prune(ctx context.Context, repo repository.Repository, p *archive.Plan) (*archive.Result, error) {
	if own, ok := repo.(selfPruning); ok {
		return own.Prune(ctx, p)
	}
	r := &archive.Result{}
	for _, d := range p.Decisions { // newest first, so that what adds to another goes before it
		if d.Keep {
			continue
		}
		switch err := repo.Delete(ctx, d.ID); {
		case err == nil:
			r.Deleted = append(r.Deleted, d.ID)
		case errors.Is(err, repository.ErrBusy): // until the next time
			r.Retained = append(r.Retained, d.ID)
		case !errors.Is(err, repository.ErrNotFound):
			return r, fmt.Errorf("delete backup %s from %s: %w", d.ID, repo.URL(), err)
		}
	}
	return r, nil
}

// Needed names the backups that somebody is about to load: these stay until
// the next time, however old they are.
func Needed(clusters []v1alpha1.DatabaseCluster, operations []v1alpha1.Operation) map[string]bool {
	out := map[string]bool{}
	for _, c := range clusters {
		if f := c.Status.Bootstrap; c.Spec.RestoreFrom != nil && (f == nil || f.ClusterID == "") {
			out[c.Spec.RestoreFrom.Backup] = true
		}
	}
	for _, o := range operations {
		if o.Active() && o.Spec.Source != nil {
			out[o.Spec.Source.Backup] = true
		}
	}
	return out
}
