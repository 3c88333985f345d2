package rules

import (
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// InTurn restarts the next of the outdated members: one that does not take
// part, else a follower, else the leader after it handed over to one that is
// done. Every other member must be healthy, those that were done above
// all: the pause on red. Of several that can't start as they are, each waits
// for its place, and for none of the others.
func (p Situation) InTurn(outdated []string, why string, step func(next string, risk ops.Risk) ops.Step) *ops.Decision {
	next := p.NextOutdated(outdated)
	down := func(name string) bool { return slices.Contains(outdated, name) && p.cantStart(p.S.Kube.Member(name)) }
	for _, name := range p.goneLast() {
		if name == next || down(next) && down(name) || p.spares(name, next) {
			continue
		}
		if err := p.E.Health(p.S.View, name); err != nil {
			return p.Gate("healthy", err, name)
		}
	}
	if d := p.HandOverFirst(next, why, outdated...); d != nil {
		return d
	}
	risk := ops.RiskRestart
	if p.RestartStops() {
		risk = ops.RiskDowntime
	}
	s := step(next, risk)
	p.warn(&s, next, outdated...)
	return Do(s)
}

// goneLast is every voter; on the way back those that are gone come last. What
// others lack is waited for, and only with all of them it shows whether one more
// may restart beside a member that is gone.
func (p Situation) goneLast() []string {
	names := p.VoterNames()
	if !p.S.Cancelling() {
		return names
	}
	var there, gone []string
	for _, name := range names {
		if p.Gone(name) {
			gone = append(gone, name)
		} else {
			there = append(there, name)
		}
	}
	return append(there, gone...)
}

// NextOutdated picks a member that can't start, else one that doesn't take
// part, else a follower, else the leader.
func (p Situation) NextOutdated(outdated []string) string {
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

// Except is the rest of the voters.
func (p Situation) Except(names []string) []string {
	listed := map[string]bool{}
	for _, name := range names {
		listed[name] = true
	}
	var out []string
	for _, name := range p.VoterNames() {
		if !listed[name] {
			out = append(out, name)
		}
	}
	return out
}

// RestartStops reports whether the cluster is down while one member restarts:
// a cluster of one, and of two where writes need a majority.
func (p Situation) RestartStops() bool {
	n := len(p.VoterNames())
	return n == 1 || n-1 < p.E.MinAvailable(n)
}

// Began reports whether this operation has performed such a step, as its journal says.
func (p Situation) Began(action ops.Action) bool {
	for _, e := range p.S.Operation.Status.Journal {
		if strings.HasPrefix(e.Step, string(action)+"/") {
			return true
		}
	}
	return false
}
