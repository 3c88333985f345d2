package simulation

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/lease"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/runner"
)

// actor is one process of the tool. It may die at any call.
type actor struct {
	world *world
	name  string
	rng   *rand.Rand
	// fuse counts the calls until it dies; negative for never.
	fuse int
	dead bool
	// freezeAt counts the calls until it stops for frozenFor.
	freezeAt    int
	frozenFor   time.Duration
	frozenUntil time.Time
	// longest is the longest that a stream of it takes; 0 is 20 s.
	longest time.Duration
	// irreversible is set while a step is performed that can't be undone.
	irreversible bool
	// observed is when it began to read the world last, checked when it was told that the lease is its own.
	observed, checked, lostLease time.Time
	// step in hand, and the lease under which it is done.
	step  ops.Step
	scope lease.Scope
	// observed is set by an observation of the world, and cleared by the decision that
	// follows; more decisions without an observation are the rest of a plan.
	looked bool
	// quorum is whether there was one when it observed, rivals who led beside each other.
	quorum bool
	rivals []string
	// planned and done are the steps of the plan that was shown, and of those that were started.
	planned, done []string
	stop          chan struct{}
}

// crash is what a dying process panics with.
type crash struct{}

var (
	errDead    = errors.New("the process is dead")
	errRequest = errors.New("api server: 503 try again")
	errAnswer  = errors.New("api server: the answer was lost")
)

// call is one request to the API server or the database: it takes time, and
// may fail before or after its effect; the process may die around it.
func (a *actor) call(ctx context.Context, what string, effect func() error) error {
	if a.dead {
		return errDead
	}
	if err := a.sleep(ctx, time.Duration(a.rng.Int64N(int64(40*time.Millisecond)))+time.Millisecond); err != nil {
		return err
	}
	a.burn(what)
	if what != "create operation" {
		a.freeze()
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	before := a.lostLease
	unlock := a.world.lock()
	if a.lostLease != before {
		// The world was asleep since before the lease ran out; a living process would have heard of it in time.
		unlock()
		if err := a.sleep(ctx, time.Millisecond); err != nil {
			return err
		}
		return lease.ErrLost
	}
	rate, down := a.world.weather.failures, a.world.weather.down(a.world.now)
	if down || (rate > 0 && a.rng.Float64() < rate) {
		unlock()
		return errRequest
	}
	err := effect()
	unlock()
	a.burn(what + ", done")
	if err == nil && rate > 0 && a.rng.Float64() < rate/2 {
		return errAnswer
	}
	return err
}

// burn shortens the fuse.
func (a *actor) burn(what string) {
	if a.fuse < 0 {
		return
	}
	if a.fuse--; a.fuse < 0 {
		unlock := a.world.lock()
		a.dead = true
		a.world.logf("%s dies at: %s", a.name, what)
		unlock()
		panic(crash{})
	}
}

// freeze lets the process stop, lease or not, though never between the
// check of the lease and what it guards: nothing could help that.
func (a *actor) freeze() {
	if a.freezeAt < 0 || a.irreversible {
		return
	}
	if a.freezeAt--; a.freezeAt >= 0 {
		return
	}
	unlock := a.world.lock()
	a.frozenUntil = a.world.now.Add(a.frozenFor)
	a.world.logf("%s freezes for %s", a.name, a.frozenFor)
	unlock()
	time.Sleep(a.frozenFor)
}

func (a *actor) sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// runner is the production code around this process.
func (a *actor) runner(decide func(engine.Engine, ops.State) ops.Decision) *runner.Runner {
	return &runner.Runner{
		Engine: a.world.engine, Store: recordStore{a}, Reporter: reporter{actor: a}, Stop: a.stop, Poll: time.Second,
		Cluster: func(_, cluster string) ops.ClosableCluster { return &site{actor: a, cluster: cluster} },
		Lock: func(ctx context.Context, _, cluster string, scope lease.Scope,
			_ func(string, time.Duration)) (lease.Lease, error) {
			return a.acquire(ctx, cluster, scope)
		},
		Decide: func(e engine.Engine, s ops.State) ops.Decision {
			d := decide(e, s)
			a.decided(d, runner.ScopeOf(s.Operation))
			return d
		},
	}
}

// decided counts decisions and notes what the process is about to do.
func (a *actor) decided(d ops.Decision, scope lease.Scope) {
	defer a.world.lock()()
	a.world.steps++
	if !a.looked {
		return
	}
	a.looked, a.irreversible = false, false
	if d.Step != nil {
		a.irreversible, a.scope = d.Step.Irreversible(), scope
		if a.step.ID != d.Step.ID {
			a.world.logf("%s decides: %s (%s)", a.name, d.Step.ID, d.Why)
		}
		a.step = *d.Step
	}
}
