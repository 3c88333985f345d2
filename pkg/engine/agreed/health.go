package agreed

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// RoleWitness is that of a member that holds no data.
const RoleWitness engine.Role = "witness"

// Health implements engine.Rules. A disk that is full comes first: the rest follows from it.
func (e Rules) Health(v engine.View, name string) error {
	err := e.unhealthy(v, name)
	if d := v.Member(name).Disk; err != nil && d.Full() {
		return fmt.Errorf("the disk of member %s is %s: %w", name, d, err)
	}
	return err
}

func (e Rules) unhealthy(v engine.View, name string) error {
	m := v.Member(name)
	entry, listed := v.Registered(name)
	leader, leads := v.Leader()
	switch {
	case !m.Reachable:
		return fmt.Errorf("member %s was not reached: %s", name, m.Problem)
	case m.Problem != "":
		return fmt.Errorf("member %s reports a problem: %s", name, m.Problem)
	case len(v.ClusterIDs) > 1:
		return fmt.Errorf("member %s is in a split: %v", name, v.ClusterIDs)
	case !v.Quorum:
		return fmt.Errorf("member %s is in a cluster without a majority", name)
	case !listed:
		return fmt.Errorf("member %s is not in the member list", name)
	case !entry.Started || !entry.Voter && !entry.Spare:
		return fmt.Errorf("member %s is joining", name)
	case m.ID != entry.ID:
		return fmt.Errorf("member %s answers with ID %s and is listed with ID %s", name, m.ID, entry.ID)
	case !m.Serving:
		return fmt.Errorf("member %s does not serve", name)
	case entry.Witness:
		return nil
	case m.Leader == "":
		return fmt.Errorf("member %s follows no primary", name)
	case leads && m.Leader != leader.ID:
		return fmt.Errorf("member %s follows %s, and %s (%s) is the primary", name, m.Leader, leader.Name, leader.ID)
	case m.Settling != "":
		return fmt.Errorf("member %s %s", name, m.Settling)
	case leads && m.Position != "" && leader.Position != "":
		return e.keepsUp(leader, m)
	}
	return nil
}

func (e Rules) keepsUp(leader, m engine.Member) error {
	switch lag, ok := e.Lag(engine.Gap{Leader: leader.Position, Member: m.Position}); {
	case !ok:
		return fmt.Errorf("member %s is at %s, which can't be compared with the primary's %s",
			m.Name, m.Position, leader.Position)
	case lag.Amount > e.MostLag:
		return fmt.Errorf("member %s is %s behind the primary", m.Name, lag)
	}
	return nil
}

// healthy returns the names of those entries that are healthy.
func (e Rules) healthy(v engine.View, entries []engine.Registered) []string {
	var out []string
	for _, r := range entries {
		if e.Health(v, r.Name) == nil {
			out = append(out, r.Name)
		}
	}
	return out
}

func quorum(n int) int { return n/2 + 1 }

// MinAvailable implements engine.Rules: as many may be away as voters may.
func (Rules) MinAvailable(members int) int {
	if members < 2 {
		return 0
	}
	return members - (min(members-(members+1)%2, mostVoters)-1)/2
}

// Tolerates implements engine.Rules.
func (e Rules) Tolerates(v engine.View) int {
	if v.Quorum {
		return len(e.healthy(v, v.Voters())) - quorum(len(v.Voters()))
	}
	reached := 0
	for _, m := range v.Members {
		if m.Reachable {
			reached++
		}
	}
	return min(-1, reached-quorum(len(v.Members)))
}

// AssessLoss implements engine.Rules: what no other member is known to have.
func (e Rules) AssessLoss(v engine.View, without string) string {
	gone := v.Member(without)
	if entry, listed := v.Registered(without); listed && entry.Witness {
		return ""
	}
	known := false
	for _, name := range e.healthy(v, v.Data()) {
		if name == without {
			continue
		}
		order, ok := e.Compare(v.Member(name).Position, gone.Position)
		if ok && order >= 0 {
			return ""
		}
		known = known || ok
	}
	if !known {
		return "what " + without + " has and no other member is known to have"
	}
	return "what was written to " + without + " last"
}
