package ops

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// Runner carries requests from the first look to the last step. Both drivers
// use it: the command line prepares, shows, asks and runs; the reconciler
// continues what is written down.
type Runner struct {
	Engine engine.Engine
	Store  kube.Store
	// World makes the world of one cluster; Close of the returned one is the caller's.
	World func(namespace, cluster string) ClosableWorld
	// Lock takes the cluster's lease.
	Lock     func(ctx context.Context, namespace, cluster string, waiting func(holder string, left time.Duration)) (kube.Lease, error)
	Reporter Reporter
	Stop     <-chan struct{}
	Boundary func(when string, step Step)
	Poll     time.Duration
	// Decide, see Loop.
	Decide func(engine.Engine, State) Decision
}

// ClosableWorld is a World that holds connections.
type ClosableWorld interface {
	World
	Close() error
}

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
	// Supersedes is the record that a deletion puts an end to.
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
	if err := p.meet(active); err != nil {
		return nil, err
	}
	cluster, err := r.cluster(ctx, namespace, p)
	if err != nil {
		return nil, err
	}
	if cluster == nil {
		return p, nil
	}
	op := p.Continues
	if op == nil {
		complete(o, cluster)
		if err := check(r.Engine, p.Request, cluster); err != nil {
			return nil, refused(err)
		}
		op = p.record(namespace)
		op.Name = "preview"
	}
	world := r.World(namespace, o.Cluster)
	defer closeQuietly(world)
	attend(world, o.Verb)
	if err := r.consider(ctx, world, p, cluster, op); err != nil {
		return nil, err
	}
	if b := p.Plan.Blocked; b != nil && (len(p.Plan.Steps) == 0 || p.Continues == nil) {
		return p, &Error{Kind: b.Kind, Check: b.Check, Message: b.Message, Hint: b.Hint}
	}
	return p, p.rehearse(ctx, world)
}

// rehearse has the steps of a new request judged, where the world can.
func (p *Prepared) rehearse(ctx context.Context, world World) error {
	r, ok := world.(Rehearser)
	if !ok || p.Continues != nil {
		return nil
	}
	for _, step := range p.Plan.Steps {
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

func (r *Runner) decider() func(engine.Engine, State) Decision {
	if r.Decide != nil {
		return r.Decide
	}
	return Decide
}

// cluster finds the cluster of the request, or takes the one that is to be.
func (r *Runner) cluster(ctx context.Context, namespace string, p *Prepared) (*v1alpha1.DatabaseCluster, error) {
	o := p.Request.Operation
	found, err := r.Store.GetCluster(ctx, namespace, o.Cluster)
	switch {
	case errors.Is(err, kube.ErrNotFound) && p.Request.Cluster != nil:
		return p.Request.Cluster, nil
	case errors.Is(err, kube.ErrNotFound) && p.Continues != nil && o.Verb == v1alpha1.VerbDelete:
		return nil, nil // the deletion died after its last step: only its record is left to close
	case errors.Is(err, kube.ErrNotFound):
		return nil, &Error{Kind: Failed, Check: "not-found", Message: fmt.Sprintf("cluster %s not found in namespace %s", o.Cluster, namespace),
			Hint: "kubectl dbop list -A shows all clusters", Err: err}
	case err != nil:
		return nil, err
	case p.Request.Cluster != nil:
		return found, r.meetCluster(found, p)
	}
	return found, nil
}

// meetCluster judges a create or restore onto a name that is taken: the same
// half-made or made cluster is continued, anything else is refused.
func (r *Runner) meetCluster(found *v1alpha1.DatabaseCluster, p *Prepared) error {
	w := p.Request.Cluster.Spec
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
// supersedes it, anything else is refused.
func (p *Prepared) meet(active *v1alpha1.Operation) error {
	switch {
	case active == nil:
		return nil
	case same(active, p.Request.Operation):
		p.Continues = active
		return nil
	case p.Request.Operation.Verb == v1alpha1.VerbDelete, p.recoversFrom(active):
		p.Supersedes = active
		return nil
	}
	return &Error{Kind: Busy, Check: "operation",
		Message: fmt.Sprintf("operation %s (%s) by %s on %s is not finished", active.Name, active.Spec.Verb, orUnknown(active.Spec.RequestedBy), active.Spec.Cluster),
		Hint:    fmt.Sprintf("continue it: kubectl dbop resume %s; or step back: kubectl dbop cancel %s", active.Spec.Cluster, active.Spec.Cluster)}
}

// recoversFrom reports whether the request is to recover from what befell the
// cluster while another operation was under way, or in another way than was
// tried. Without quorum none of them would ever end; with quorum a recovery is
// refused, and the other one goes on.
func (p *Prepared) recoversFrom(active *v1alpha1.Operation) bool {
	return p.Request.Operation.Verb == v1alpha1.VerbRecover && active.Spec.Verb != v1alpha1.VerbDelete
}

// Run takes the lease, looks again, writes the request down and carries it
// out. What Prepare saw is only a promise: the plan that counts is made under
// the lease. It returns the record as it ended.
func (r *Runner) Run(ctx context.Context, namespace string, req Request) (*v1alpha1.Operation, error) {
	lease, err := r.Lock(ctx, namespace, req.Operation.Cluster, func(holder string, left time.Duration) {
		r.Reporter.Note(fmt.Sprintf("the lease of %s is held by %s, which does not renew it; taking over in %s", req.Operation.Cluster, holder, left.Round(time.Second)))
	})
	if err != nil {
		return nil, busy(err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveGrace)
		defer cancel()
		if err := lease.Release(ctx); err != nil {
			r.Reporter.Note("the lease could not be given back: " + err.Error())
		}
	}()
	p, err := r.Prepare(ctx, namespace, req)
	if err != nil {
		return nil, err
	}
	if p.Plan.Unchanged() && p.Continues == nil {
		return nil, &Error{Kind: Unchanged, Message: req.Operation.Cluster + " is as asked already"}
	}
	op, err := r.writeDown(ctx, namespace, p, lease)
	if err != nil {
		return nil, err
	}
	r.Reporter.Planned(p.Plan)
	return op, r.loop(ctx, namespace, op, &lease)
}

// Resume continues the record in flight, or steps it back, and lifts a pause.
// The record is nil if there was only a pause.
func (r *Runner) Resume(ctx context.Context, namespace, cluster string, cancel bool) (*v1alpha1.Operation, error) {
	lease, err := r.Lock(ctx, namespace, cluster, func(string, time.Duration) {})
	if err != nil {
		return nil, busy(err)
	}
	defer func() { _ = lease.Release(context.WithoutCancel(ctx)) }()
	lifted, err := SetPaused(ctx, r.Store, namespace, cluster, false)
	if err != nil && !errors.Is(err, kube.ErrNotFound) {
		return nil, err
	}
	op, err := r.Store.ActiveOperation(ctx, namespace, cluster)
	if err != nil {
		return nil, err
	}
	if op == nil && lifted {
		return nil, nil
	}
	if op == nil {
		return nil, &Error{Kind: Unchanged, Message: "no operation of " + cluster + " is in flight"}
	}
	op.Status.Phase = v1alpha1.PhaseRunning
	if cancel {
		if err := cancellable(op); err != nil {
			return nil, err
		}
		op.Status.Phase = v1alpha1.PhaseCancelling
	}
	if err := r.continueRecord(ctx, op, lease); err != nil {
		return nil, err
	}
	return op, r.loop(ctx, namespace, op, &lease)
}

// cancellable says which operations have a way back.
func cancellable(op *v1alpha1.Operation) error {
	switch op.Spec.Verb {
	case v1alpha1.VerbScale, v1alpha1.VerbAddMember, v1alpha1.VerbUpgrade, v1alpha1.VerbDowngrade, v1alpha1.VerbBackup,
		v1alpha1.VerbRestart, v1alpha1.VerbSwitchover, v1alpha1.VerbStop, v1alpha1.VerbStart, v1alpha1.VerbDefrag,
		v1alpha1.VerbConfigure, v1alpha1.VerbResize,
		v1alpha1.VerbEnableAuth, v1alpha1.VerbDisableAuth, v1alpha1.VerbCreateUser, v1alpha1.VerbRotateCredentials, v1alpha1.VerbRotateCertificates:
		return nil
	case v1alpha1.VerbRecover:
		if !epochJournaled(op) {
			return nil
		}
	}
	return &Error{Kind: Refused, Check: "cancel", Message: fmt.Sprintf("%s can't be stepped back once it began", op.Spec.Verb),
		Hint: fmt.Sprintf("finish it: kubectl dbop resume %s; or delete the cluster: kubectl dbop delete %s", op.Spec.Cluster, op.Spec.Cluster)}
}

// loop carries out a record under a lease. One that was lost while nobody else
// could have it, because the API server was away or this machine asleep, is
// taken back, and the record goes on from what is observed.
func (r *Runner) loop(ctx context.Context, namespace string, op *v1alpha1.Operation, lease *kube.Lease) error {
	for {
		lost := r.under(ctx, namespace, op, *lease)
		if !errors.Is(lost, kube.ErrLeaseLost) || ctx.Err() != nil {
			return lost
		}
		if ride(ctx, func() error { return r.regain(ctx, op, lease) }, kube.ErrLeaseLost) != nil {
			return lost
		}
		r.Reporter.Note("the lease was lost for want of an answer; nobody took it, going on")
	}
}

// regain takes the lease and the record up again.
func (r *Runner) regain(ctx context.Context, op *v1alpha1.Operation, lease *kube.Lease) error {
	again, err := (*lease).Regain(ctx)
	if err != nil {
		return err
	}
	*lease = again
	stored, err := r.Store.GetOperation(ctx, op.Namespace, op.Name)
	if err != nil {
		return err
	}
	*op = *stored
	return nil
}

// under carries out a record while the lease is ours.
func (r *Runner) under(ctx context.Context, namespace string, op *v1alpha1.Operation, lease kube.Lease) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-lease.Lost():
			cancel(kube.ErrLeaseLost)
		case <-ctx.Done():
		}
	}()
	world := r.World(namespace, op.Spec.Cluster)
	defer closeQuietly(world)
	attend(world, op.Spec.Verb)
	l := &Loop{Engine: r.Engine, World: world, Reporter: r.Reporter, Guard: lease.Check, Stop: r.Stop, Poll: r.Poll, Boundary: r.Boundary, Decide: r.decider()}
	return l.Run(ctx, op)
}

// busy names the holder of a lease that is alive.
func busy(err error) error {
	if held, ok := errors.AsType[*kube.HeldError](err); ok {
		return &Error{Kind: Busy, Check: "lease", Message: held.Error(), Hint: "wait for it to end, or stop that process; then repeat the command", Err: kube.ErrHeld}
	}
	return err
}

func orUnknown(s string) string {
	if s == "" {
		return "<unknown>"
	}
	return s
}

func closeQuietly(w ClosableWorld) { _ = w.Close() }
