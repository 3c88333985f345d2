package etcd

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/pod"
)

// JoinsAtOnce implements engine.Rules: the least limit of all members. Who is registered and was never started will be
// told the same as the others.
func (*Engine) JoinsAtOnce(v engine.View, told map[string]int) int {
	limit := pod.Learners
	for _, r := range v.MemberList {
		n, known := told[r.Name]
		if !known && !r.Voter && !r.Started {
			continue
		}
		limit = min(limit, n)
	}
	return max(limit, 1)
}
