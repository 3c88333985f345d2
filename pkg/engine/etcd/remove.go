package etcd

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/refusal"
)

// CheckRemove implements engine.Rules. What stays must have a quorum of
// healthy voters (etcd: IsReadyToRemoveVotingMember, and for a member that is
// up also active-1 >= quorum). A learner has no vote, so it may always go, and
// so may a member that is gone already.
func (*Engine) CheckRemove(v engine.View, member string) error {
	if err := whole(v); err != nil {
		return err
	}
	entry, ok := v.Registered(member)
	if !ok || !entry.Voter {
		return nil
	}
	voters := v.Voters()
	if len(voters) == 1 {
		return refusal.New("last-member", refusal.Command("delete", v),
			"member %s is the last voter; removing it is deleting the cluster", member)
	}
	rest := 0
	for _, name := range healthyVoters(v) {
		if name != member {
			rest++
		}
	}
	if need := quorum(len(voters) - 1); rest < need {
		return refusal.New("quorum", refusal.Command("status", v),
			"without member %s there are %d healthy voters of %d and etcd needs %d", member, rest, len(voters)-1, need)
	}
	return nil
}
