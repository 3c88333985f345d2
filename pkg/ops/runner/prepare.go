package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/executor"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// Prepare reads, judges and plans; it writes nothing. A refusal is an Error of
// kind Refused or Busy. A new request whose plan does not come to its end is
// refused before its first step; one in flight goes as far as it can.
func (r *Runner) Prepare(ctx context.Context, namespace string, req planner.Request) (*planner.Prepared, error) {
	return r.prepare(ctx, namespace, req, func(ctx context.Context) error {
		return r.seenTaking(ctx, namespace, req.Operation.Cluster)
	})
}

// prepare is Prepare; taken is ErrHeld, as an Error, while a process takes the backup in flight.
func (r *Runner) prepare(ctx context.Context, namespace string, req planner.Request,
	taken func(context.Context) error) (*planner.Prepared, error) {
	p := &planner.Prepared{Request: req}
	o := &p.Request.Operation
	flight, err := r.flight(ctx, namespace, o.Cluster)
	if err != nil {
		return nil, err
	}
	if before := p.Meet(flight); before != nil {
		return nil, planner.Verbs().InFlight(before, r.recorded(ctx, before))
	}
	cluster, err := r.cluster(ctx, namespace, p)
	if err != nil {
		return nil, err
	}
	if cluster == nil {
		return p, nil
	}
	if old := p.Supersedes; old != nil && ops.Untouched(old) {
		revert(cluster, old)
	}
	op := p.Continues
	if op == nil {
		if err := r.stillLast(ctx, namespace, *o, cluster); err != nil {
			return nil, err
		}
		if err := r.onceOnly(ctx, namespace, *o); err != nil {
			return nil, err
		}
		planner.Default(o, cluster)
		if err := planner.Check(r.Engine, p.Request, cluster); err != nil {
			return nil, ops.Refusal(err)
		}
		op = p.Record(namespace)
		op.Name = "preview"
	} else if p.Corrects {
		if err := planner.Check(r.Engine, p.Request, cluster); err != nil {
			return nil, ops.Refusal(err)
		}
	}
	world := r.Cluster(namespace, o.Cluster)
	defer closeQuietly(world)
	executor.SelectFacts(world, o.Verb, p.Continues != nil)
	if err := r.consider(ctx, world, p, cluster, op); err != nil {
		return nil, err
	}
	if err := r.mayGiveWay(p, cluster); err != nil {
		return nil, err
	}
	if err := r.meetBackup(ctx, world, p, taken); err != nil {
		return nil, err
	}
	if b := p.Plan.Blocked; b != nil && (len(p.Plan.Steps) == 0 || p.Continues == nil) {
		return p, b
	}
	if err := Rehearse(ctx, p, world); err != nil {
		return p, err
	}
	if !p.Plan.Unchanged() {
		p.Plan.Steps = append(stopsFirst(p), p.Plan.Steps...)
	}
	if step := p.Request.Import; step != nil && !p.Plan.Unchanged() {
		p.Plan.Steps = append([]ops.Step{*step}, p.Plan.Steps...)
	}
	return p, nil
}

// PrepareResume says what Resume would come to: what is left of the record in
// flight, or of the way back from it. It writes nothing, so what the cluster
// would want from then on is wanted in the plan only.
func (r *Runner) PrepareResume(ctx context.Context, namespace, cluster string, cancel bool) (*planner.Prepared, error) {
	flight, err := r.flight(ctx, namespace, cluster)
	if err != nil {
		return nil, err
	}
	op := flight.First()
	if op == nil {
		return nil, nothingInFlight(cluster)
	}
	if err := r.redirect(ctx, op, cancel); err != nil {
		return nil, err
	}
	p := &planner.Prepared{Request: planner.Request{Operation: op.Spec}, Continues: op}
	c, err := r.cluster(ctx, namespace, p)
	if err != nil || c == nil {
		return p, err
	}
	c.Spec.Paused = false
	world := r.Cluster(namespace, cluster)
	defer closeQuietly(world)
	executor.SelectFacts(world, op.Spec.Verb, true)
	return p, r.consider(ctx, world, p, c, op)
}

// Rehearse has the steps of a new request judged, where the world can.
func Rehearse(ctx context.Context, p *planner.Prepared, world ops.Cluster) error {
	r, ok := world.(ops.Rehearser)
	if !ok || p.Continues != nil {
		return nil
	}
	for _, step := range p.Plan.Steps {
		if step.Action == ops.ActionLoad && p.Request.Import != nil {
			continue // its backup is not there yet
		}
		if err := r.Rehearse(ctx, p.State, step); err != nil {
			return err
		}
	}
	return nil
}

// cluster finds the cluster of the request, or takes the one that is to be.
func (r *Runner) cluster(ctx context.Context, namespace string, p *planner.Prepared) (*v1alpha1.DatabaseCluster,
	error) {
	o := p.Request.Operation
	found, err := r.Store.GetCluster(ctx, namespace, o.Cluster)
	switch {
	case errors.Is(err, kube.ErrNotFound) && p.Request.Cluster != nil,
		ops.NoRecord(err) && p.Request.Cluster != nil && o.Verb == v1alpha1.VerbRepair:
		return p.Request.Cluster, nil
	case errors.Is(err, kube.ErrNotFound) && p.Continues != nil && o.Verb == v1alpha1.VerbDelete:
		return nil, nil // the deletion died after its last step: only its record is left to close
	case errors.Is(err, kube.ErrNotFound):
		return nil, &ops.Error{Kind: ops.Failed, Check: "not-found",
			Message: fmt.Sprintf("cluster %s not found in namespace %s", o.Cluster, namespace),
			Hint:    "kubectl dbop list -A shows all clusters", Err: err}
	case err != nil:
		return nil, err
	case p.Request.Cluster != nil && o.Verb != v1alpha1.VerbRepair:
		p.Corrects = planner.Correct(p.Request.Cluster.Spec, found)
		return found, meetExisting(found, p.Request)
	}
	return found, nil
}

// considerations is how often a request is considered before it is refused for what may
// be over in a second, and considerPause the pause between two.
const (
	considerations = 4
	considerPause  = 500 * time.Millisecond
)

// consider observes, and plans the request for what it sees. A cluster between
// two leaders is fit for nothing, so a request that it is refused for is
// considered again a little later.
func (r *Runner) consider(ctx context.Context, world ops.Cluster, p *planner.Prepared,
	cluster *v1alpha1.DatabaseCluster, op *v1alpha1.Operation) error {
	for try := 1; ; try++ {
		s, err := world.Observe(ctx)
		if err != nil {
			return err
		}
		s.Cluster = cluster.DeepCopy()
		if renderer, ok := world.(ops.Renderer); ok && p.Corrects {
			s.Rendering = renderer.Rendering(s.Cluster)
		}
		if p.Continues == nil {
			o := &p.Request.Operation
			if err := planner.Resolve(r.Engine, o, s); err != nil {
				return ops.Refusal(err)
			}
			op.Spec = *o
		}
		s.Operation = op.DeepCopy()
		planner.ApplyTo(s.Cluster, op)
		if judge, ok := world.(ops.UserJudge); ok && p.Continues == nil {
			s.HasUser = judge.HasUser(ctx, s)
		}
		p.State = s
		p.Plan = planner.PlanWith(r.decider(), r.Engine, s)
		if b := p.Plan.Blocked; b == nil || b.Kind != ops.Refused || p.Continues != nil || try == considerations ||
			!betweenLeaders(s) {
			return nil
		}
		timer := time.NewTimer(considerPause)
		select {
		case <-timer.C:
		case <-r.Stop:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// betweenLeaders reports whether a majority answers and one of them does so
// without the consent of a majority, as all do for a second or two between two
// leaders. Where fewer answer, a second does not mend it.
func betweenLeaders(s ops.State) bool {
	reached, waits := 0, false
	for _, m := range s.View.Members {
		if m.Reachable {
			reached++
			waits = waits || !m.Serving && m.Role != engine.RoleLearner && m.Problem == ""
		}
	}
	return waits && reached >= ops.Majority(len(s.View.Members))
}
