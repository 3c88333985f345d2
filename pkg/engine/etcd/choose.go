package etcd

import (
	"cmp"
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/addresses"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/positions"
)

// Successor implements engine.Rules: the healthy voter that has applied most,
// of equals the one with the lowest number.
func (*Engine) Successor(v engine.View, except ...string) string {
	return furthest(v, func(m engine.Member) bool {
		return !m.Role.Leads() && !slices.Contains(except, m.Name)
	})
}

// Source implements engine.Rules. Without leader it is the healthy voter that
// has applied most, of equals rather a follower, to spare the leader.
func (*Engine) Source(v engine.View, leads bool) string {
	if l, ok := v.Leader(); ok && leads && health(v, l.Name) == nil {
		return l.Name
	}
	return furthest(v, func(engine.Member) bool { return true })
}

func furthest(v engine.View, fit func(engine.Member) bool) string {
	var candidates []engine.Member
	for _, name := range healthyVoters(v) {
		if m := v.Member(name); fit(m) {
			candidates = append(candidates, m)
		}
	}
	if len(candidates) == 0 {
		return ""
	}
	return slices.MinFunc(candidates, func(a, b engine.Member) int {
		return cmp.Or(
			cmp.Compare(positions.Applied(b), positions.Applied(a)),
			rank(a.Role.Leads(), b.Role.Leads()),
			cmp.Compare(addresses.Number(a.Name), addresses.Number(b.Name)),
			cmp.Compare(a.Name, b.Name),
		)
	}).Name
}

// RemovalCandidate implements engine.Rules: an unhealthy member before a healthy one, a
// follower before the leader, a high number before a low one. Members are
// compared by what they are, never by their place in a list: etcd sorts its
// list by ID, which says nothing.
func (*Engine) RemovalCandidate(v engine.View) string {
	if len(v.MemberList) == 0 {
		return ""
	}
	return slices.MinFunc(v.MemberList, func(a, b engine.Registered) int {
		return cmp.Or(
			rank(health(v, a.Name) == nil, health(v, b.Name) == nil),
			rank(v.Member(a.Name).Role.Leads(), v.Member(b.Name).Role.Leads()),
			cmp.Compare(addresses.Number(b.Name), addresses.Number(a.Name)),
			cmp.Compare(b.Name, a.Name),
		)
	}).Name
}

// rank puts what is false first.
func rank(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}
