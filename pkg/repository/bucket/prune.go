package bucket

import (
	"context"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
)

// Plan says what a retention makes of the backups of one cluster of this namespace. Those in keep stay whatever it
// says. It changes nothing but for a small object that asks the store for its time.
func (r *Repository) Plan(ctx context.Context, cluster string, by archive.Retention,
	keep map[string]bool) (*archive.Plan, error) {
	p, err := r.archive.Plan(ctx, archive.Scope{Namespace: r.namespace, Cluster: cluster}, by)
	if err != nil {
		return nil, r.explain(err)
	}
	for id := range keep {
		p.Keep(id, "somebody is about to load it")
	}
	return p, nil
}

// Prune does what a plan of this repository says, and collects what unfinished backups left behind.
func (r *Repository) Prune(ctx context.Context, p *archive.Plan) (*archive.Result, error) {
	out, err := r.archive.Prune(ctx, p)
	return out, r.explain(err)
}
