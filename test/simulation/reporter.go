package simulation

import (
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// reporter remembers what was promised and what was started.
type reporter struct {
	ops.Silent
	actor *actor
}

// Planned implements ops.Reporter.
func (r reporter) Planned(p ops.Plan) {
	defer r.actor.world.lock()()
	r.actor.planned, r.actor.done = nil, nil
	for _, s := range p.Steps {
		if s.Action != ops.ActionWait {
			r.actor.planned = append(r.actor.planned, promise(s))
		}
	}
	if len(p.LeaderMoves) > 1 {
		r.actor.planned = nil // who leads after the first decides in which order members restart the next time
	}
	for _, s := range p.Steps {
		if (s.Action == ops.ActionUpgrade || s.Action == ops.ActionDowngrade || s.Action == ops.ActionRoll ||
			s.Action == ops.ActionRestart) && s.Risk == ops.RiskDowntime {
			r.actor.planned = nil // an outage ends with an election, and nobody foresees who wins it
		}
	}
	if b := p.Blocked; b != nil && (b.Check == "plan-length" || b.Kind == ops.NeedsHuman) &&
		r.actor.world.weather.storm == 0 {
		r.actor.world.violate("%s plans into a block: %s", r.actor.name, b.Message)
	}
}

// Started implements ops.Reporter.
func (r reporter) Started(s ops.Step) {
	defer r.actor.world.lock()()
	r.actor.done = append(r.actor.done, promise(s))
}

// promise is what a plan promises of a step. Who of several equals gets the
// leadership depends on how far each is at that moment.
func promise(s ops.Step) string {
	if s.Action == ops.ActionHandOver {
		return string(s.Action)
	}
	return s.ID
}

// kept complains if, in a world without faults, a plan was not what was done.
func (a *actor) kept(err error) {
	if err != nil || a.planned == nil {
		return
	}
	if !slices.Equal(a.planned, a.done) {
		a.world.violate("planned and done differ:\n  planned %s\n  done    %s", strings.Join(a.planned, " "),
			strings.Join(a.done, " "))
	}
}
