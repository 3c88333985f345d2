package bucket

import (
	"context"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
)

// Pruning is what a plan goes by.
type Pruning struct {
	By archive.Retention
	// Keep are the identifiers of backups that stay whatever By says.
	Keep map[string]bool
	// Engine says which engine has a name. Without it timelines of the log that no backup starts from stay.
	Engine func(name string) (engine.Engine, error)
}

// Plan says what a prune makes of the backups of one cluster of this namespace. It changes nothing but for a small
// object that asks the store for its time.
func (r *Repository) Plan(ctx context.Context, cluster string, in Pruning) (*archive.Plan, error) {
	p, err := r.archive.Plan(ctx, archive.Scope{Namespace: r.namespace, Cluster: cluster}, in.By)
	if err != nil {
		return nil, r.explain(err)
	}
	for id := range in.Keep {
		p.Keep(id, "somebody is about to load it")
	}
	if in.Engine != nil {
		p.Spares(func(name string, starts []archive.LogStart, all []archive.Segment) []archive.Segment {
			e, err := in.Engine(name)
			if err != nil {
				return nil
			}
			return spare(e, starts, all)
		})
	}
	return p, nil
}

// PlanLog adds to a plan of this repository what it lets go of the log, to be shown.
func (r *Repository) PlanLog(ctx context.Context, p *archive.Plan) error {
	return r.explain(r.archive.PlanLog(ctx, p))
}

// spare are the segments that an engine has no use for.
func spare(e engine.Engine, starts []archive.LogStart, all []archive.Segment) (out []archive.Segment) {
	a, archives := e.(engine.LogArchiver)
	if !archives {
		return nil
	}
	from := make([]engine.LogStart, len(starts))
	for i, s := range starts {
		from[i] = engine.LogStart{Timeline: s.Timeline, File: s.Segment}
	}
	named := map[[2]string]bool{}
	for _, f := range a.SpareLog(from, LogFiles(all)) {
		named[[2]string{f.Timeline, f.Name}] = true
	}
	for _, s := range all {
		if named[[2]string{s.Timeline, s.Name}] {
			out = append(out, s)
		}
	}
	return out
}

// Prune does what a plan of this repository says, and collects what unfinished backups left behind.
func (r *Repository) Prune(ctx context.Context, p *archive.Plan) (*archive.Result, error) {
	out, err := r.archive.Prune(ctx, p)
	return out, r.explain(err)
}
