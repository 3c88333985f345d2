package simulation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/lease"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/runner"
)

// stream is a backup that a process takes from a member.
type stream struct {
	actor   *actor
	from    *slot
	process *process
	began   time.Time
}

var errBrokeOff = errors.New("the stream broke off")

// judging is the longest that passes between the judgement about a request and its record.
const judging = 10 * time.Second

// stream reads a member's data for a while, and breaks off where the server that it reads ends.
func (s *site) stream(ctx context.Context, begin func() (*stream, error)) error {
	w := s.actor.world
	var st *stream
	if err := s.actor.call(ctx, "begin the stream", func() (err error) {
		if st, err = begin(); err == nil {
			st.actor, st.began = s.actor, w.now
			w.streams[s.cluster] = st
		}
		return err
	}); err != nil {
		return err
	}
	longest := cmp.Or(s.actor.longest, 20*time.Second)
	if err := s.actor.sleep(ctx, time.Duration(s.actor.rng.Int64N(int64(longest)))); err != nil {
		return err
	}
	return s.actor.call(ctx, "read the end of the stream", func() error {
		delete(w.streams, s.cluster)
		if !w.runs(st.from) || st.from.pod.process != st.process {
			w.tally["stream broke off"]++
			return errBrokeOff
		}
		return nil
	})
}

// sparing checks that nothing that began beside a backup restarts the member that it is taken from.
func (w *world) sparing(a *actor, s *slot) {
	st, o := w.streams[s.cluster], w.records.active(s.cluster)
	if st == nil || o == nil || st.from != s || s.pod == nil || s.pod.process != st.process {
		return
	}
	l := w.leases[leaseOf(s.cluster, lease.Backup)]
	taken := !st.actor.dead && l != nil && l.holder == st.actor && w.now.Sub(l.renewed) < leaseTime
	switch m := planner.OperationOf(o.Spec.Verb).Manners(); a.step.Action {
	case ops.ActionRestart, ops.ActionRoll, ops.ActionUpgrade, ops.ActionDowngrade, ops.ActionStop:
		if taken && w.written[o.Name].After(st.began.Add(judging)) && !m.Ends && !m.Recovers && !m.NewData {
			w.violate("%s performs %s (%s), and %s takes a backup from %s", a.name, a.step.ID, o.Spec.Verb, st.actor.name,
				s.name)
		}
	}
}

// backUpMeanwhile has somebody take a backup while the next commands run, by the one driver or the other.
func (p *person) backUpMeanwhile(name string) {
	rng := rand.New(rand.NewPCG(p.chance.Uint64(), 7)) //nolint:gosec // reproducible
	// Much can begin and come to its steps while such a stream lasts.
	other := &person{world: p.world, rng: rng, decide: p.decide, processes: p.chance.IntN(2), longest: 2 * time.Minute}
	id, verify := fmt.Sprintf("meanwhile-%d", p.chance.Uint32()), p.chance.IntN(3) == 0
	delay := time.Duration(p.chance.Int64N(int64(10 * time.Second)))
	p.copying.Go(func() {
		time.Sleep(delay)
		for range 3 {
			request := planner.Request{Operation: v1alpha1.OperationSpec{Cluster: name, Verb: v1alpha1.VerbBackup,
				Repository: "pvc:backups", Backup: id, BackupParameters: v1alpha1.BackupParameters{Verify: verify}}}
			err := other.attempt(func(ctx context.Context, r *runner.Runner) error {
				if other.inAttempts() {
					return takeAttempts(ctx, r, name, &request, false)
				}
				_, err := r.Run(ctx, Namespace, request)
				return err
			})
			unlock := p.world.lock()
			if p.world.records.active(name) != nil {
				p.world.tally["backup beside an operation: "+ending(err)]++
			}
			unlock()
			if err == nil || ops.KindOf(err) == ops.Refused {
				return
			}
			time.Sleep(time.Duration(other.rng.Int64N(int64(10 * time.Second))))
		}
	})
}
