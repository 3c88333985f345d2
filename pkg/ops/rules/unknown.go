package rules

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
)

// unknownFirst refuses to change members beside an entry that is none: its
// learner takes the place of the one that may join.
func (p Situation) unknownFirst() *ops.Decision {
	for _, r := range health.UnknownMembers(p.S) {
		if p.Manners.Removes && p.S.Operation.Spec.Member == r.Name {
			continue
		}
		f := health.UnknownFinding(p.S, r)
		return Block(&ops.Error{Kind: ops.Refused, Check: "unknown-member", Message: f.Subject + ": " + f.What,
			Hint: "first: " + f.Remedy[0]})
	}
	return nil
}
