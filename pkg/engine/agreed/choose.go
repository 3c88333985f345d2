package agreed

import (
	"cmp"
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// Successor implements engine.Rules: a healthy member with data, close behind
// the primary, of several the furthest.
func (e Rules) Successor(v engine.View, except ...string) string {
	leader, leads := v.Leader()
	return e.furthest(v, func(m engine.Member) bool {
		if m.Role.Leads() || slices.Contains(except, m.Name) {
			return false
		}
		lag, ok := e.Lag(engine.Gap{Leader: leader.Position, Member: m.Position})
		return !leads || leader.Position == "" || m.Position == "" || ok && lag.Amount <= e.NearEnough
	})
}

// Source implements engine.Rules: a replica that is close behind, to spare the primary, and else that.
func (e Rules) Source(v engine.View, leads bool) string {
	if l, ok := v.Leader(); ok && leads && e.Health(v, l.Name) == nil {
		return l.Name
	}
	if replica := e.Successor(v); replica != "" {
		return replica
	}
	return e.furthest(v, func(engine.Member) bool { return true })
}

func (e Rules) furthest(v engine.View, fit func(engine.Member) bool) string {
	best := ""
	for _, name := range e.healthy(v, v.Data()) {
		order, ok := e.Compare(v.Member(name).Position, v.Member(best).Position)
		if fit(v.Member(name)) && (best == "" || ok && order > 0) {
			best = name
		}
	}
	return best
}

// RemovalCandidate implements engine.Rules: of the members with data an unhealthy one,
// then a replica, then the last by name.
func (e Rules) RemovalCandidate(v engine.View) string {
	data := v.Data()
	if len(data) == 0 {
		return ""
	}
	rank := func(r engine.Registered) int {
		switch {
		case e.Health(v, r.Name) != nil:
			return 0
		case !v.Member(r.Name).Role.Leads():
			return 1
		}
		return 2
	}
	return slices.MinFunc(data, func(a, b engine.Registered) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(len(b.Name), len(a.Name)), cmp.Compare(b.Name, a.Name))
	}).Name
}
