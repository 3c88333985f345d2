package simulation

import (
	"errors"
	"fmt"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// healthInterval is how long members must have met before etcd counts them as connected.
const healthInterval = 5 * time.Second

var errNoLeader = errors.New("etcdserver: request timed out")

// asked returns the group that serves a cluster's requests and its leader.
func (w *world) asked(cluster, token string) (*group, *slot, error) {
	for _, s := range w.slots {
		if s.cluster != cluster || !w.runs(s) || s.pod.template.token != token {
			continue
		}
		if g := s.pod.process.data.group; g != nil {
			if l := w.leads(g); l != nil {
				return g, l, nil
			}
		}
	}
	return nil, nil, errNoLeader
}

// counts returns how many voters have started, are connected now, and have been for long.
func (w *world) counts(g *group, without string) (started, active, steady int) {
	for _, e := range g.members {
		if !e.voter || e.id == without {
			continue
		}
		if e.started {
			started++
		}
		if s := w.serving(g, e); s != nil && !s.pod.process.since.IsZero() {
			active++
			if w.now.Sub(s.pod.process.since) >= healthInterval {
				steady++
			}
		}
	}
	return started, active, steady
}

// register is MemberAdd, as a learner or with a vote.
func (w *world) register(cluster, token, name string, voter, witness bool) error {
	g, leader, err := w.asked(cluster, token)
	if err != nil {
		return err
	}
	if g.agreement != nil {
		return w.enlist(g, name, witness)
	}
	if e := g.named(name); e != nil {
		if e.started {
			return &engine.Refusal{Check: "registered", Reason: name + " is a member already"}
		}
		return nil
	}
	started, _, steady := w.counts(g, "")
	n := g.voters()
	if voter && started < quorum(n+1) && (n != 1 || started != 1) {
		return &engine.Refusal{Check: "not-enough-started", Reason: "not enough started members"}
	}
	if n > 1 && steady < quorum(n+1) {
		return fmt.Errorf("etcdserver: unhealthy cluster: %w", engine.ErrNotReady)
	}
	if !voter {
		if err := w.oneMoreLearner(g, leader); err != nil {
			return err
		}
	}
	g.index++
	g.members = append(g.members, entry{id: hash(fmt.Sprint(name, w.now.UnixNano())), name: name, voter: voter})
	return nil
}

// promote gives a learner its vote, on the leader's word.
func (w *world) promote(cluster, token, name string) error {
	g, leader, err := w.asked(cluster, token)
	if err != nil {
		return err
	}
	e := g.named(name)
	if e == nil {
		return &engine.Refusal{Check: "not-found", Reason: name + " is not registered"}
	}
	if e.voter {
		return nil
	}
	if g.agreement != nil {
		w.violate("somebody gives %s a vote, which is the agents' to give", name)
		return nil
	}
	s := w.serving(g, *e)
	if s == nil || !e.started || s.pod.process.data.index*10 < leader.pod.process.data.index*9 {
		return fmt.Errorf("etcdserver: can only promote a learner member which is in sync with leader: %w",
			engine.ErrNotReady)
	}
	started, _, _ := w.counts(g, "")
	if started < quorum(g.voters()+1)-1 {
		return &engine.Refusal{Check: "not-enough-started", Reason: "not enough started members"}
	}
	g.index++
	e.voter = true
	return nil
}

// deregister is MemberRemove.
func (w *world) deregister(cluster, token, name string) error {
	for _, g := range w.groups {
		if e := g.named(name); e != nil && g.token == token {
			g.dismissed[e.id] = true // asked for, whether it is done or not
		}
	}
	g, _, err := w.asked(cluster, token)
	if err != nil {
		return err
	}
	e := g.named(name)
	if e == nil {
		return nil
	}
	if g.agreement != nil {
		return w.dismiss(g, name)
	}
	if e.voter {
		n := g.voters() - 1
		started, active, _ := w.counts(g, e.id)
		if n == 0 || started < quorum(n) {
			return &engine.Refusal{Check: "not-enough-started",
				Reason: "re-configuration failed due to not enough started members"}
		}
		if w.serving(g, *e) != nil && active < quorum(n) {
			return fmt.Errorf("etcdserver: unhealthy cluster: %w", engine.ErrNotReady)
		}
	}
	id := e.id
	var rest []entry
	for _, o := range g.members {
		if o.id != id {
			rest = append(rest, o)
		}
	}
	g.members = rest
	g.index++
	if g.leader == id {
		g.leader = ""
	}
	return nil
}

// handOver is MoveLeader.
func (w *world) handOver(cluster, token, to string) error {
	g, leader, err := w.asked(cluster, token)
	if err != nil {
		return err
	}
	if g.agreement != nil {
		return w.switchOver(g, leader, to)
	}
	e := g.named(to)
	if e == nil || !e.voter {
		return &engine.Refusal{Check: "bad-transferee", Reason: to + " can't lead"}
	}
	s := w.serving(g, *e)
	if s == nil || (w.weather.storm > 0 && w.chance(0.1)) {
		return errors.New("etcdserver: request timed out, leader transfer took too long")
	}
	s.pod.process.data.index = leader.pod.process.data.index
	w.crown(g, s)
	return nil
}
