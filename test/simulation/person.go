package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/lease"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/runner"
)

// decider makes the decisions of every process in the world.
type decider func(engine.Engine, ops.State) ops.Decision

// person types commands, and types them again when they don't end well.
type person struct {
	world  *world
	rng    *rand.Rand
	decide decider
	// careful: nothing goes wrong; recovering: something did before.
	careful, recovering bool
	commands            int
	processes           int
	// others are people who do something meanwhile.
	others sync.WaitGroup
	// copying are those of them who take backups; chance says when, beside all else that is drawn. nil for never.
	copying sync.WaitGroup
	chance  *rand.Rand
	// longest is the longest that a stream takes which it asks for; 0 is as for all.
	longest time.Duration
}

// command makes the request of one command line. A repeat is made again, as a
// second process would: with another token and another backup identifier.
type command func() planner.Request

// timeout of every command.
const timeout = 40 * time.Minute

// attempt runs one command in a process of its own and returns how it ended;
// errDead if it was killed.
func (p *person) attempt(run func(context.Context, *runner.Runner) error) error {
	return p.launch(func(ctx context.Context, a *actor) error { return run(ctx, a.runner(p.decide)) })
}

// launch starts a process and returns how it ended; errDead if it was killed.
func (p *person) launch(run func(context.Context, *actor) error) error {
	a := p.process()
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				if _, ok := r.(crash); !ok {
					panic(r)
				}
				done <- errDead
			}
		}()
		done <- run(ctx, a)
	}()
	if !p.careful && p.rng.Float64() < 0.1 {
		timer := time.AfterFunc(time.Duration(p.rng.Int64N(int64(time.Minute))), func() { close(a.stop) })
		defer timer.Stop()
	}
	err := <-done
	unlock := p.world.lock()
	a.dead = true
	p.world.tally["process "+ending(err)]++
	if p.careful && !p.recovering {
		a.kept(err)
	}
	p.world.logf("%s ends: %v", a.name, err)
	unlock()
	return err
}

// ending names how a process ended, for the tally.
func ending(err error) string {
	var typed *ops.Error
	switch {
	case err == nil:
		return "done"
	case errors.Is(err, errDead):
		return "killed"
	case errors.As(err, &typed):
		return string(typed.Kind) + " " + typed.Check
	case errors.Is(err, lease.ErrLost):
		return "lost its lease"
	}
	return "failed"
}

// process makes a process, most of them with a fate.
func (p *person) process() *actor {
	unlock := p.world.lock()
	defer unlock()
	n := p.world.id()
	rng := rand.New(rand.NewPCG(p.rng.Uint64(), 2)) //nolint:gosec // reproducible
	a := &actor{world: p.world, name: fmt.Sprintf("process-%d", n), rng: rng, fuse: -1, freezeAt: -1,
		longest: p.longest, stop: make(chan struct{})}
	if p.careful {
		return a
	}
	if p.rng.Float64() < 0.4 {
		a.fuse = p.rng.IntN(1 << (2 + p.rng.IntN(8)))
	}
	if p.rng.Float64() < 0.1 {
		a.freezeAt, a.frozenFor = p.rng.IntN(200), time.Second+time.Duration(p.rng.Int64N(int64(40*time.Second)))
	}
	return a
}

// insist repeats a command until it is done, refused, or the person gives up.
func (p *person) insist(c command) {
	name := c().Operation.Cluster
	run := func(ctx context.Context, r *runner.Runner) error {
		if p.inAttempts() {
			request := c()
			return takeAttempts(ctx, r, name, &request, false)
		}
		_, err := r.Run(ctx, Namespace, c())
		return err
	}
	resume := func(cancel bool) func(context.Context, *runner.Runner) error {
		return func(ctx context.Context, r *runner.Runner) error {
			if p.inAttempts() {
				return takeAttempts(ctx, r, name, nil, cancel)
			}
			_, err := r.Resume(ctx, Namespace, name, cancel)
			return err
		}
	}
	next := run
	for range 2 + p.rng.IntN(5) {
		if p.rng.Float64() < 0.1 {
			p.rival(run, resume(false))
		}
		if p.rng.Float64() < 0.02 {
			p.pause(name)
		}
		if p.chance != nil && !p.careful && p.chance.Float64() < 0.1 {
			p.backUpMeanwhile(name)
		}
		err := p.attempt(next)
		if err == nil || ops.KindOf(err) == ops.Unchanged {
			return
		}
		if ops.KindOf(err) == ops.Refused && p.rng.Float64() < 0.7 {
			return
		}
		switch x := p.rng.Float64(); {
		case x < 0.55:
			next = run
		case x < 0.75:
			next = resume(false)
		case x < 0.9:
			next = resume(true)
		default:
			return
		}
		time.Sleep(time.Duration(p.rng.Int64N(int64(20 * time.Second))))
	}
}

// pause has somebody pause the cluster while the next command runs, or before it.
func (p *person) pause(name string) {
	other := &person{world: p.world, rng: rand.New(rand.NewPCG(p.rng.Uint64(), 6)), decide: p.decide} //nolint:gosec // reproducible
	delay := time.Duration(p.rng.Int64N(int64(20 * time.Second)))
	p.others.Go(func() {
		time.Sleep(delay)
		err := other.attempt(func(ctx context.Context, r *runner.Runner) error {
			_, err := runner.SetPaused(ctx, r.Store, Namespace, name, &v1alpha1.Pause{By: "somebody"})
			return err
		})
		if err == nil {
			unlock := p.world.lock()
			p.world.tally["paused"]++
			unlock()
		}
	})
}

// rival runs the same or a continuing command at the same time, from elsewhere.
func (p *person) rival(run, resume func(context.Context, *runner.Runner) error) {
	what := run
	if p.rng.Float64() < 0.5 {
		what = resume
	}
	other := &person{world: p.world, rng: rand.New(rand.NewPCG(p.rng.Uint64(), 3)), decide: p.decide} //nolint:gosec // reproducible
	delay := time.Duration(p.rng.Int64N(int64(5 * time.Second)))
	done := make(chan struct{})
	go func() {
		defer close(done)
		time.Sleep(delay)
		_ = other.attempt(what)
	}()
	_ = p.attempt(run)
	<-done
}

// create makes the command that creates a cluster, where clients must log in or not.
func (p *person) create(name, version string, members int, locked bool) command {
	return func() planner.Request {
		c := p.cluster(name, version, members, members)
		f := c.Status.Bootstrap
		for n := members + 1; n <= ops.SizeOf(p.world.engine, c.Spec); n++ {
			f.Members = append(f.Members, v1alpha1.MemberName(name, n))
			f.SetWitness(v1alpha1.MemberName(name, n), true)
		}
		c.Spec.Auth.Enabled = locked
		return planner.Request{Operation: v1alpha1.OperationSpec{Cluster: name, Verb: v1alpha1.VerbCreate,
			Waive: []string{"size"}}, Cluster: c}
	}
}

// cluster is a wanted cluster with its founding.
func (p *person) cluster(name, version string, members, initial int) *v1alpha1.DatabaseCluster {
	p.commands++
	c := &v1alpha1.DatabaseCluster{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: Namespace}}
	c.Spec = v1alpha1.DatabaseClusterSpec{Engine: p.world.engine.Name(), Version: version, Members: int32(members), //nolint:gosec // a size
		Storage: v1alpha1.Storage{Size: resource.MustParse("8Gi")}}
	f := &v1alpha1.Bootstrap{Token: fmt.Sprintf("token-%s-%d-%d", name, p.commands, p.rng.Uint32())}
	for n := 1; n <= initial; n++ {
		f.Members = append(f.Members, v1alpha1.MemberName(name, n))
	}
	c.Status.Bootstrap = f
	return c
}

// backupID is an identifier never used before.
func (p *person) backupID() string {
	p.commands++
	return fmt.Sprintf("backup-%d-%d", p.commands, p.rng.Uint32())
}
