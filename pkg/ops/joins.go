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

// JoinLimit is what a member is told that is rendered now: what its template says already; else the least that the
// template of another one says, for it must be the same for all. Only a cluster of which nothing runs is told what a
// new one is. Who can't be told anything, because of its version, decides nothing.
func JoinLimit(e engine.Engine, s State, member string) int {
	least, runs := 0, false
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
		case least == 0 || limit < least:
			least = limit
		}
	}
	if limiter, ok := e.(engine.JoinLimiter); ok && !runs {
		return limiter.InitialJoinLimit(s.Cluster.Spec.Version)
	}
	return least
}
