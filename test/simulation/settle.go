package simulation

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/runner"
)

// settle types what is left to do once nothing goes wrong any more, and
// complains about what does not come to an end.
func (p *person) settle() {
	p.careful, p.recovering = true, true
	time.Sleep(2 * time.Minute)
	for _, name := range p.world.named() {
		p.converge(name)
		p.start(name)
		p.repair(name)
		p.tidy(name)
		p.clear(name)
		p.idle(name)
	}
	for _, name := range p.world.named() {
		p.end(name)
	}
}

// converge finishes what is in flight, or steps it back where members can't
// live with what it asks for: that way must always be open.
func (p *person) converge(name string) {
	var err error
	for try := range 8 { // a container that crashed often is started again only minutes later
		// Where somebody else took the only other member with data from the list, nobody can take over.
		back := p.world.unbearable(name) || try > 3 && len(p.world.leftovers(name)) > 0
		err = p.attempt(func(ctx context.Context, r *runner.Runner) error {
			_, err := r.Resume(ctx, Namespace, name, back)
			return err
		})
		if ops.KindOf(err) == ops.Unchanged {
			return
		}
		if err == nil { // a backup may be in flight beside it
			continue
		}
		time.Sleep(2 * time.Minute)
	}
	defer p.world.lock()()
	if !p.world.hopeless(name, err) {
		p.world.violate("%s does not converge: %v", name, err)
	}
}

// start starts a cluster that was left stopped.
func (p *person) start(name string) {
	unlock := p.world.lock()
	c, op := p.world.records.clusters[name], p.world.records.active(name)
	stopped := c != nil && c.Spec.Stopped && op == nil
	unlock()
	if !stopped {
		return
	}
	err := p.attempt(func(ctx context.Context, r *runner.Runner) error {
		_, err := r.Run(ctx, Namespace, planner.Request{Operation: v1alpha1.OperationSpec{Cluster: name,
			Verb: v1alpha1.VerbStart}})
		return err
	})
	defer p.world.lock()()
	if err != nil && !p.world.hurt(name) {
		p.world.violate("%s can't be started: %v", name, err)
	}
}

// repair replaces the member whose data was lost, which must be possible
// while the others are well.
func (p *person) repair(name string) {
	unlock := p.world.lock()
	member, op := p.world.voterWithoutVolume(name), p.world.records.active(name)
	unlock()
	if member == "" {
		return
	}
	if op != nil {
		if err := p.attempt(func(ctx context.Context, r *runner.Runner) error {
			_, err := r.Resume(ctx, Namespace, name, true)
			return err
		}); err != nil && !takesOver(op.Spec.Verb) {
			return // it has no way back, so the cluster can only be deleted
		}
		p.start(name)
		unlock := p.world.lock()
		member = p.world.voterWithoutVolume(name)
		unlock()
		if member == "" {
			return
		}
	}
	replace := func(ctx context.Context, r *runner.Runner) error {
		_, err := r.Run(ctx, Namespace, planner.Request{Operation: v1alpha1.OperationSpec{Cluster: name,
			Verb: v1alpha1.VerbReplaceMember, Member: member}})
		return err
	}
	if p.world.hasAgents() {
		time.Sleep(10 * time.Second) // replicas need a moment before they follow a new primary
	}
	err := p.attempt(replace)
	if ops.KindOf(err) == ops.Busy {
		// The way back is closed, so it takes over from the way there.
		_ = p.attempt(func(ctx context.Context, r *runner.Runner) error {
			_, err := r.Resume(ctx, Namespace, name, false)
			return err
		})
		err = p.attempt(replace)
	}
	defer p.world.lock()()
	if err != nil {
		p.world.violate("%s of %s can't be replaced: %v", member, name, err)
		return
	}
	p.world.tally["member replaced"]++
}

// takesOver reports whether the replacement of a lost member must be possible
// although something is in flight that has no way back: what restarts members.
func takesOver(v v1alpha1.Verb) bool {
	switch v {
	case v1alpha1.VerbUpgrade, v1alpha1.VerbDowngrade, v1alpha1.VerbConfigure, v1alpha1.VerbResize:
		return true
	}
	return false
}

// idle asks for what is there already: nothing may be written, and nothing may be left to do.
func (p *person) idle(name string) {
	w := p.world
	unlock := w.lock()
	c, op, writes, last := w.records.clusters[name], w.records.active(name), w.records.writes, w.records.last(name)
	unlock()
	if last != nil && strings.HasPrefix(last.Status.Message, "superseded") {
		return // half done, and the person who wanted it gone instead gave up
	}
	if c == nil || c.Status.Bootstrap.ClusterID == "" || op != nil || w.damaged(name) {
		return
	}
	err := p.attempt(func(ctx context.Context, r *runner.Runner) error {
		_, err := r.Run(ctx, Namespace, planner.Request{Operation: v1alpha1.OperationSpec{Cluster: name,
			Verb: v1alpha1.VerbScale, SizeParameters: v1alpha1.SizeParameters{Members: c.Spec.Members},
			Waive: []string{"size"}}})
		return err
	})
	defer w.lock()()
	if ops.KindOf(err) != ops.Unchanged || err == nil {
		w.violate("%s is asked for what it is already: %v", name, err)
	}
	if w.records.writes != writes {
		w.violate("%s is idle and %d records were written", name, w.records.writes-writes)
	}
}

// end deletes a cluster for good, which must always be possible.
func (p *person) end(name string) {
	var err error
	for range 3 {
		err = p.attempt(func(ctx context.Context, r *runner.Runner) error {
			_, err := r.Run(ctx, Namespace, planner.Request{Operation: v1alpha1.OperationSpec{Cluster: name,
				Verb: v1alpha1.VerbDelete, Waive: []string{"backup"}}})
			return err
		})
		if err == nil {
			return
		}
		var typed *ops.Error
		if errors.As(err, &typed) && typed.Check == "not-found" {
			return
		}
	}
	defer p.world.lock()()
	p.world.violate("%s can't be deleted: %v", name, err)
}
