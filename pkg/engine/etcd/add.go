package etcd

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/refusal"
)

// CheckAdd implements engine.Rules. etcd counts the new member as down: it
// wants as many connected voters as the enlarged cluster's quorum
// (isConnectedToQuorumAfterAddingNewMemberSince; patches before 3.5.30 and
// 3.6.11 refuse with any voter down). This rule wants every voter healthy,
// because the new member copies its data from the others and a cluster should
// be repaired before it grows.
func (*Engine) CheckAdd(v engine.View) error {
	if err := whole(v); err != nil {
		return err
	}
	if err := settled(v); err != nil {
		return err
	}
	if err := stable(v, "etcd lets nobody join"); err != nil {
		return err
	}
	voters := v.Voters()
	if len(voters) >= maxMembers {
		return refusal.New("members", refusal.Command("status", v),
			"the cluster has %d voters already, the most that make sense", len(voters))
	}
	healthy := len(healthyVoters(v))
	for _, voter := range voters {
		err := health(v, voter.Name)
		if err == nil {
			continue
		}
		need := quorum(len(voters) + 1)
		if healthy < need && len(voters) > 1 {
			return refusal.New("members-healthy", refusal.Command("status", v),
				"%v; etcd refuses to add a member now: %d of %d voters are connected and a cluster of %d needs %d",
				err, healthy, len(voters), len(voters)+1, need)
		}
		return refusal.New("members-healthy", refusal.Command("status", v),
			"%v; bring it back or remove it before another member joins", err)
	}
	return nil
}

// whole refuses a cluster that is split or that no majority is behind.
func whole(v engine.View) error {
	if len(v.ClusterIDs) > 1 {
		return refusal.New("split", refusal.Command("status", v),
			"the members belong to %d different clusters: %v", len(v.ClusterIDs), v.ClusterIDs)
	}
	if !v.Quorum {
		return refusal.New("quorum", refusal.Command("status", v),
			"the cluster has no quorum, so its member list cannot change")
	}
	return nil
}

// settled refuses while an earlier membership change is unfinished: etcd limits
// the number of learners, and counts an unstarted voter against the quorum.
func settled(v engine.View) error {
	for _, r := range v.MemberList {
		if !r.Started {
			return refusal.New("unstarted-member", refusal.Command("member remove", v)+" "+r.Name,
				"member %s is registered and has not started yet", r.Name)
		}
	}
	for _, r := range v.Joining() {
		return refusal.New("learner-open", refusal.Command("member remove", v)+" "+r.Name,
			"member %s is still a learner, and joins first", r.Name)
	}
	return nil
}
