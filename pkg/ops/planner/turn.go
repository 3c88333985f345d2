package planner

import (
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// inTurn restarts the next of the outdated members: one that does not take
// part, else a follower, else the leader after it handed over to one that is
// done. Every other member must be healthy, those that had their turn above
// all: the pause on red. Of several that can't start as they are, each waits
// for its turn, and for none of the others.
func (p Planner) inTurn(outdated []string, why string, step func(next string, risk ops.Risk) ops.Step) *ops.Decision {
	next := p.nextOutdated(outdated)
	down := func(name string) bool { return slices.Contains(outdated, name) && p.cantStart(p.S.Kube.Member(name)) }
	for _, name := range p.voterNames() {
		if name == next || down(next) && down(name) || p.spares(name, next) {
			continue
		}
		if err := p.E.Health(p.S.View, name); err != nil {
			return p.gate("healthy", err, name)
		}
	}
	if d := p.handOverFirst(next, why, outdated...); d != nil {
		return d
	}
	risk := ops.RiskRestart
	if p.restartStops() {
		risk = ops.RiskDowntime
	}
	s := step(next, risk)
	p.warn(&s, next, outdated...)
	return do(s)
}

// nextOutdated picks a member that can't start, else one that doesn't take
// part, else a follower, else the leader.
func (p Planner) nextOutdated(outdated []string) string {
	for _, name := range outdated {
		if p.cantStart(p.S.Kube.Member(name)) {
			return name
		}
	}
	for _, name := range outdated {
		if p.E.Health(p.S.View, name) != nil {
			return name
		}
	}
	for _, name := range outdated {
		if !p.S.View.Member(name).Role.Leads() {
			return name
		}
	}
	return outdated[0]
}

// except is the rest of the voters.
func (p Planner) except(names []string) []string {
	listed := map[string]bool{}
	for _, name := range names {
		listed[name] = true
	}
	var out []string
	for _, name := range p.voterNames() {
		if !listed[name] {
			out = append(out, name)
		}
	}
	return out
}

// restartStops reports whether the cluster is down while one member restarts:
// a cluster of one, and of two where writes need a majority.
func (p Planner) restartStops() bool {
	n := len(p.voterNames())
	return n == 1 || n-1 < p.E.MinAvailable(n)
}

// Began reports whether this operation has performed such a step, as its journal says.
func (p Planner) Began(action ops.Action) bool {
	for _, e := range p.S.Operation.Status.Journal {
		if strings.HasPrefix(e.Step, string(action)+"/") {
			return true
		}
	}
	return false
}
