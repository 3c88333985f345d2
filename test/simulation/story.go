package simulation

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// Run plays one world from its first request to its end: requests and faults
// at random, then quiet, in which everything must come to rest. It returns
// once all its processes have ended.
func (w *world) Run(seed uint64, decide func(engine.Engine, ops.State) ops.Decision) {
	rng := rand.New(rand.NewPCG(seed, 4)) //nolint:gosec // reproducible
	p := &person{world: w, rng: rng, decide: decide}
	p.chance = rand.New(rand.NewPCG(seed, 8)) //nolint:gosec // reproducible
	defer p.others.Wait()
	defer p.copying.Wait()
	switch rng.IntN(4) {
	case 0:
		p.careful = rng.IntN(2) == 0
	case 1:
		w.Storm(0.002, 0, 0)
	case 2:
		w.Storm(0.01, 0.01, rng.IntN(2))
	case 3:
		w.Storm(0.03, 0.04, rng.IntN(2))
	}
	if w.hasAgents() && w.weather.storm > 0 {
		w.weather.losses += 2
	}
	for range 1 + rng.IntN(14) {
		p.insist(p.next())
		if w.Broken() != "" {
			return
		}
		time.Sleep(time.Duration(rng.Int64N(int64(time.Minute))))
	}
	p.copying.Wait()
	w.Calm()
	p.settle()
}

// damaged reports whether a cluster lost a member's data for good.
func (w *world) damaged(cluster string) bool {
	defer w.lock()()
	return w.hurt(cluster)
}

func (w *world) hurt(cluster string) bool {
	c := w.records.clusters[cluster]
	if c == nil || c.Status.Bootstrap == nil {
		return false
	}
	for _, g := range w.groups {
		if g.token == c.Status.Bootstrap.Token && g.damaged {
			return true
		}
	}
	return false
}

// voterWithoutVolume names the voter of a cluster whose data is lost, "" if there is none.
func (w *world) voterWithoutVolume(cluster string) string {
	c := w.records.clusters[cluster]
	if c == nil || c.Status.Bootstrap.ClusterID == "" {
		return ""
	}
	for _, g := range w.groups {
		if g.token != c.Status.Bootstrap.Token || w.leads(g) == nil {
			continue
		}
		for _, e := range g.members {
			if s := w.find(e.name); (e.voter || e.whole) && e.started && (s.volume == nil || s.volume.data == nil) {
				return e.name
			}
		}
	}
	return ""
}

// hopeless reports whether an operation may rightly be stuck: a member's data
// is gone, which nobody but a person may give up.
func (w *world) hopeless(cluster string, err error) bool {
	if typed, ok := errors.AsType[*ops.Error](err); ok {
		switch typed.Check {
		case "stale-volume", "downtime", "space", "unproven":
			return true
		}
	}
	return w.hurt(cluster)
}
