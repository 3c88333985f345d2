package etcd

import (
	"fmt"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/positions"
)

// maxLag is how many log entries a healthy member may be behind the leader.
// It is the distance at which etcd itself refuses requests
// (maxGapBetweenApplyAndCommitIndex) and from which a follower needs a
// snapshot (snapshot-catchup-entries). Less would be noise: members are asked
// one after another while the log grows.
const maxLag = 5000

// Health implements engine.Rules. A healthy member was reached, votes, agrees
// with the others on cluster and leader, has no alarm, answers with the
// consent of a majority and is close behind the leader. A cluster in two
// parts has no healthy member: nobody may choose the right part but a person.
func (*Engine) Health(v engine.View, member string) error { return health(v, member) }

func health(v engine.View, name string) error {
	m := v.Member(name)
	if !m.Reachable {
		return fmt.Errorf("member %s was not reached%s", name, because(m.Problem))
	}
	if m.Problem != "" {
		return fmt.Errorf("member %s reports a problem: %s", name, m.Problem)
	}
	if len(v.ClusterIDs) > 1 {
		return fmt.Errorf("member %s is in a split: the members belong to %d different clusters (%s)",
			name, len(v.ClusterIDs), strings.Join(v.ClusterIDs, ", "))
	}
	if len(m.Alarms) > 0 {
		return fmt.Errorf("member %s has an alarm: %s", name, strings.Join(m.Alarms, ", "))
	}
	if m.Leader == "" {
		return fmt.Errorf("member %s sees no leader", name)
	}
	if err := membership(v, m); err != nil {
		return err
	}
	if !m.Serving {
		return fmt.Errorf("member %s does not serve linearizable reads", name)
	}
	return following(v, m)
}

// membership checks the member against the list that a majority is behind.
func membership(v engine.View, m engine.Member) error {
	if !v.Quorum {
		return fmt.Errorf("member %s is in a cluster without quorum", m.Name)
	}
	entry, ok := v.Registered(m.Name)
	switch {
	case !ok:
		return fmt.Errorf("member %s is not in the cluster's member list", m.Name)
	case !entry.Voter:
		return fmt.Errorf("member %s is a learner and has no vote yet", m.Name)
	case !entry.Started:
		return fmt.Errorf("member %s is registered and has not started yet", m.Name)
	case m.ID != entry.ID:
		return fmt.Errorf("member %s answers with ID %s and is registered with ID %s", m.Name, m.ID, entry.ID)
	}
	return nil
}

// following checks the member against the leader, as far as the leader was reached.
func following(v engine.View, m engine.Member) error {
	l, ok := v.Leader()
	if !ok {
		for _, other := range v.Members {
			if other.Reachable && other.Leader != "" && other.Leader != m.Leader {
				return fmt.Errorf("member %s follows leader %s, %s follows %s", m.Name, m.Leader, other.Name, other.Leader)
			}
		}
		return nil
	}
	if m.Leader != l.ID {
		return fmt.Errorf("member %s follows leader %s, but %s (%s) leads", m.Name, m.Leader, l.Name, l.ID)
	}
	ahead, behind := positions.Applied(l), positions.Applied(m)
	if m.Position != "" && ahead > behind && ahead-behind > maxLag {
		return fmt.Errorf("member %s is %d log entries behind the leader", m.Name, ahead-behind)
	}
	return nil
}

func because(problem string) string {
	if problem == "" {
		return ""
	}
	return ": " + problem
}

// Witnesses implements engine.Rules: etcd knows none.
func (*Engine) Witnesses(v1alpha1.DatabaseClusterSpec) int { return 0 }

// MinAvailable implements engine.Rules: a majority. One member can't be kept
// by a disruption budget.
func (*Engine) MinAvailable(members int) int {
	if members < 2 {
		return 0
	}
	return quorum(members)
}

// AssessLoss implements engine.Rules: what was acknowledged is on a majority.
func (*Engine) AssessLoss(engine.View, string) string { return "" }

// quorum is how many of n voters are a majority.
func quorum(n int) int { return n/2 + 1 }

// healthyVoters returns the names of the voters that are healthy.
func healthyVoters(v engine.View) []string {
	var out []string
	for _, r := range v.Voters() {
		if health(v, r.Name) == nil {
			out = append(out, r.Name)
		}
	}
	return out
}

// Tolerates implements engine.Rules. Without quorum the member list is not
// known, and the margin is counted over the members that were asked.
func (*Engine) Tolerates(v engine.View) int {
	// A member without space votes as well as any other.
	v = v.WithoutAlarms(engine.CauseSpace)
	if v.Quorum {
		return len(healthyVoters(v)) - quorum(len(v.Voters()))
	}
	reached := 0
	for _, m := range v.Members {
		if m.Reachable {
			reached++
		}
	}
	return min(-1, reached-quorum(len(v.Members)))
}
