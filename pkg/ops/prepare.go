package ops

import (
	"context"
	"errors"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// Rehearser is what a World also is if it can have a step judged before the
// first one is taken.
type Rehearser interface {
	Rehearse(ctx context.Context, s State, step Step) error
}

// Prepared is a request that was looked at and judged; nothing was written.
type Prepared struct {
	Request Request
	Plan    Plan
	State   State
	// Continues is the record in flight that this request continues; nil for a new one.
	Continues *v1alpha1.Operation
	// Supersedes is the record that this request ends.
	Supersedes *v1alpha1.Operation
}

// Prepare reads, judges and plans; it writes nothing. A refusal is an Error of
// kind Refused or Busy. A new request whose plan does not come to its end is
// refused before its first step; one in flight goes as far as it can.
func (r *Runner) Prepare(ctx context.Context, namespace string, req Request) (*Prepared, error) {
	p := &Prepared{Request: req}
	o := &p.Request.Operation
	active, err := r.Store.ActiveOperation(ctx, namespace, o.Cluster)
	if err != nil {
		return nil, err
	}
	if !p.meet(active) {
		return nil, inFlight(active, r.recorded(ctx, active))
	}
	cluster, err := r.cluster(ctx, namespace, p)
	if err != nil {
		return nil, err
	}
	if cluster == nil {
		return p, nil
	}
	if old := p.Supersedes; old != nil && untouched(old) {
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
		complete(o, cluster)
		if err := check(r.Engine, p.Request, cluster); err != nil {
			return nil, refused(err)
		}
		op = p.record(namespace)
		op.Name = "preview"
	}
	world := r.World(namespace, o.Cluster)
	defer closeQuietly(world)
	attend(world, o.Verb, p.Continues != nil)
	if err := r.consider(ctx, world, p, cluster, op); err != nil {
		return nil, err
	}
	if err := r.mayGiveWay(p, cluster); err != nil {
		return nil, err
	}
	if b := p.Plan.Blocked; b != nil && (len(p.Plan.Steps) == 0 || p.Continues == nil) {
		return p, b.Error()
	}
	if err := rehearse(ctx, p, world); err != nil {
		return p, err
	}
	if step := p.Request.Import; step != nil && !p.Plan.Unchanged() {
		p.Plan.Steps = append([]Step{*step}, p.Plan.Steps...)
	}
	return p, nil
}

// PrepareResume says what Resume would come to: what is left of the record in
// flight, or of the way back from it. It writes nothing, so what the cluster
// would want from then on is wanted in the plan only.
func (r *Runner) PrepareResume(ctx context.Context, namespace, cluster string, cancel bool) (*Prepared, error) {
	op, err := r.Store.ActiveOperation(ctx, namespace, cluster)
	if err != nil {
		return nil, err
	}
	if op == nil {
		return nil, nothingInFlight(cluster)
	}
	if err := r.redirect(ctx, op, cancel); err != nil {
		return nil, err
	}
	p := &Prepared{Request: Request{Operation: op.Spec}, Continues: op}
	c, err := r.cluster(ctx, namespace, p)
	if err != nil || c == nil {
		return p, err
	}
	c.Spec.Paused = false
	world := r.World(namespace, cluster)
	defer closeQuietly(world)
	attend(world, op.Spec.Verb, true)
	return p, r.consider(ctx, world, p, c, op)
}

// rehearse has the steps of a new request judged, where the world can.
func rehearse(ctx context.Context, p *Prepared, world World) error {
	r, ok := world.(Rehearser)
	if !ok || p.Continues != nil {
		return nil
	}
	for _, step := range p.Plan.Steps {
		if step.Action == ActionLoad && p.Request.Import != nil {
			continue // its backup is not there yet
		}
		if err := r.Rehearse(ctx, p.State, step); err != nil {
			return err
		}
	}
	return nil
}

// record is the record that the request will be written down as. A deletion
// that supersedes a deletion takes over the last backup if it was made: once
// members are stopped there is none to be had.
func (p *Prepared) record(namespace string) *v1alpha1.Operation {
	op := &v1alpha1.Operation{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}, Spec: p.Request.Operation,
		Status: v1alpha1.OperationStatus{Phase: v1alpha1.PhaseRunning, StartedAt: stamp(p.State.Now)}}
	if old := p.Supersedes; old != nil && old.Spec.Verb == v1alpha1.VerbDelete && op.Spec.Verb == v1alpha1.VerbDelete && old.Status.Facts[v1alpha1.FactBackup] != "" {
		op.Spec.Repository, op.Spec.Backup = old.Spec.Repository, old.Spec.Backup
		op.Status.Facts = maps.Clone(old.Status.Facts)
	}
	return op
}

// cluster finds the cluster of the request, or takes the one that is to be.
func (r *Runner) cluster(ctx context.Context, namespace string, p *Prepared) (*v1alpha1.DatabaseCluster, error) {
	o := p.Request.Operation
	found, err := r.Store.GetCluster(ctx, namespace, o.Cluster)
	switch {
	case errors.Is(err, kube.ErrNotFound) && p.Request.Cluster != nil,
		noRecord(err) && p.Request.Cluster != nil && o.Verb == v1alpha1.VerbRepair:
		return p.Request.Cluster, nil
	case errors.Is(err, kube.ErrNotFound) && p.Continues != nil && o.Verb == v1alpha1.VerbDelete:
		return nil, nil // the deletion died after its last step: only its record is left to close
	case errors.Is(err, kube.ErrNotFound):
		return nil, &Error{Kind: Failed, Check: "not-found", Message: fmt.Sprintf("cluster %s not found in namespace %s", o.Cluster, namespace),
			Hint: "kubectl dbop list -A shows all clusters", Err: err}
	case err != nil:
		return nil, err
	case p.Request.Cluster != nil && o.Verb != v1alpha1.VerbRepair:
		return found, r.meetCluster(found, p)
	}
	return found, nil
}

// meetCluster judges a create or restore onto a name that is taken: the same
// half-made or made cluster is continued, anything else is refused.
func (r *Runner) meetCluster(found *v1alpha1.DatabaseCluster, p *Prepared) error {
	w := p.Request.Cluster.Spec
	if w.Auth.Enabled && !found.Spec.Auth.Enabled && p.Request.Operation.Verb == v1alpha1.VerbCreate {
		return &Error{Kind: Refused, Check: "exists", Message: fmt.Sprintf("cluster %s exists already, and its clients need not log in", found.Name),
			Hint: "kubectl dbop auth enable " + found.Name + " demands it; or choose another name"}
	}
	if found.Spec.Engine == w.Engine && found.Spec.Version == w.Version && found.Spec.Members == w.Members && sameSource(found.Spec.RestoreFrom, w.RestoreFrom) {
		return nil
	}
	return &Error{Kind: Refused, Check: "exists",
		Message: fmt.Sprintf("cluster %s exists already: %s %s with %d members", found.Name, found.Spec.Engine, found.Spec.Version, found.Spec.Members),
		Hint:    "choose another name, or change that one with scale or upgrade"}
}

func sameSource(a, b *v1alpha1.RestoreSource) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// meet judges a record in flight: the same request continues it, a deletion
// supersedes it, and so does any request if it has changed nothing yet;
// anything else has to wait.
func (p *Prepared) meet(active *v1alpha1.Operation) bool {
	switch o := p.Request.Operation; {
	case active == nil:
	case continues(o, active):
		p.Continues = active
	case supersedes(o, active):
		p.Supersedes = active
	default:
		return false
	}
	return true
}

// continues reports whether the request is the operation in flight.
func continues(o v1alpha1.OperationSpec, active *v1alpha1.Operation) bool {
	return same(active, o) && !yields(active)
}

// supersedes reports whether the request may end the operation in flight and take its place.
func supersedes(o v1alpha1.OperationSpec, active *v1alpha1.Operation) bool {
	return o.Verb == v1alpha1.VerbDelete || recoversFrom(o, active) || replacesIn(o, active) || succeedsIn(o, active) || yields(active) || untouched(active)
}

// yields reports whether a record that came to a halt gives way to whatever is
// asked for next: a clearing of alarms or a defragmentation that needs another
// operation first, or a look with new eyes once keys were deleted. All that it
// has done counts by itself.
func yields(active *v1alpha1.Operation) bool {
	switch active.Spec.Verb {
	case v1alpha1.VerbClearAlarms, v1alpha1.VerbDefrag:
		return active.Status.Phase == v1alpha1.PhasePaused
	}
	return false
}

// recoversFrom reports whether the request is to recover from what befell the
// cluster while another operation was under way, or in another way than was
// tried. Without quorum none of them would ever end; with quorum a recovery is
// refused, and the other one goes on.
func recoversFrom(o v1alpha1.OperationSpec, active *v1alpha1.Operation) bool {
	return o.Verb == v1alpha1.VerbRecover && active.Spec.Verb != v1alpha1.VerbDelete
}
