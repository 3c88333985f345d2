package pod

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/versions"
)

// learnerFlag limits how many learners a cluster may have. 3.5 knows no such flag: one learner is compiled into it.
//
// Each member compares each change of the member list with its own limit when it applies it, so members with different
// limits would come to different lists (RaftCluster.ValidateConfigurationChange). A member that has more learners in
// its data than its limit does not start.
const learnerFlag = "--max-learners="

// Learners is the highest limit that this tool works with: more than two copies of the data at once would slow the
// leader down.
const Learners = 2

// learnerArgument is the flag of a member that is told a limit; none where the version has it compiled in.
func learnerArgument(limit int, v versions.Version) []string {
	if limit < 2 || v.Line().Less(versions.LearnersLine) {
		return nil
	}
	return []string{learnerFlag + strconv.Itoa(limit)}
}

// InitialLearners is the limit of the members of a new cluster of a version; 0 if they can't be told one. It is etcd's
// own. Two that join side by side lose their announcements more often, and wait 7 s for each: docs/benchmarks.md.
func InitialLearners(version string) int {
	if v, err := versions.Parse(version); err != nil || v.Line().Less(versions.LearnersLine) {
		return 0
	}
	return 1
}

// LearnerLimit reads the limit of a member from its pod; 1 if it is told none, 0 if its version can't be told one.
func LearnerLimit(version string, pod corev1.PodSpec) int {
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
