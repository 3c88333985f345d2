package ops

import "github.com/dbop-dev/kubectl-dbop/pkg/engine"

// JoinsAtOnce is how many members may be joining side by side, by what the members of this incarnation are told.
func JoinsAtOnce(e engine.Engine, s State) int {
	told := map[string]int{}
	for _, m := range s.Kube.Members {
		if limit, ok := m.JoinLimit(); ok && s.Ours(m) {
			told[m.Name] = limit
		}
	}
	return e.JoinsAtOnce(s.View, told)
}

// JoinLimit is what a member is told that is rendered now: what its template says already; else the most that the
// template of another one says, for it must be the same for all, and a new member that is told less than the others
// were when two joined side by side can't take in their log. Only a cluster of which nothing runs is told what a new
// one is. Who can't be told anything, because of its version, decides nothing.
func JoinLimit(e engine.Engine, s State, member string) int {
	most, runs := 0, false
	for _, m := range s.Kube.Members {
		if !s.Ours(m) || !m.Workload.Exists && !m.Pod.Exists {
			continue
		}
		runs = true
		limit := m.Workload.JoinLimit
		if !m.Workload.Exists {
			limit = m.Pod.JoinLimit
		}
		switch {
		case limit == 0:
		case m.Name == member:
			return limit
		default:
			most = max(most, limit)
		}
	}
	if limiter, ok := e.(engine.JoinLimiter); ok && !runs {
		return limiter.InitialJoinLimit(s.Cluster.Spec.Version)
	}
	return most
}
