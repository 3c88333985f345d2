package etcd

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/versions"
)

var _ engine.JoinLimiter = (*Engine)(nil)

// learnerFlag limits how many learners a cluster may have. 3.5 knows no such flag: one learner is compiled into it.
//
// Each member compares each change of the member list with its own limit when it applies it, so members with different
// limits would come to different lists (RaftCluster.ValidateConfigurationChange). A member that has more learners in its
// data than its limit does not start.
const learnerFlag = "--max-learners="

// learners is the limit of new clusters: more than two copies of the data at once would slow the leader down.
const learners = 2

// learnerLimit is the flag of a member that is told a limit; none where the version has it compiled in.
func learnerLimit(limit int, v versions.Version) []string {
	if limit < 2 || v.Line().Less(versions.LearnersLine) {
		return nil
	}
	return []string{learnerFlag + strconv.Itoa(limit)}
}

// InitialJoinLimit implements engine.JoinLimiter.
func (*Engine) InitialJoinLimit(version string) int {
	if v, err := versions.Parse(version); err != nil || v.Line().Less(versions.LearnersLine) {
		return 0
	}
	return learners
}

// JoinLimit implements engine.JoinLimiter.
func (*Engine) JoinLimit(version string, pod corev1.PodSpec) int {
	v, err := versions.Parse(version)
	if err != nil || v.Line().Less(versions.LearnersLine) {
		return 0
	}
	limit := 1
	for _, c := range pod.Containers {
		if c.Name != containerName {
			continue
		}
		for _, arg := range c.Args {
			if text, ok := strings.CutPrefix(arg, learnerFlag); ok {
				if n, err := strconv.Atoi(text); err == nil {
					limit = max(n, 1)
				}
			}
		}
	}
	return limit
}

// JoinsAtOnce implements engine.Rules: the least limit of all members. Who is registered and was never started will be
// told the same as the others.
func (*Engine) JoinsAtOnce(v engine.View, told map[string]int) int {
	limit := learners
	for _, r := range v.MemberList {
		n, known := told[r.Name]
		if !known && !r.Voter && !r.Started {
			continue
		}
		limit = min(limit, n)
	}
	return max(limit, 1)
}
