package group

import (
	"slices"

	"github.com/hashicorp/raft"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// bootTerm is the term of a group in which nobody asked for votes yet.
const bootTerm = 1

// hasten has this member ask for votes at once, where no leader can be there whose word it would wait for: it is the
// only voter, or the first of those of a new group, and has heard all others. Any voter may ask at any time; so this
// costs an election at worst.
func (g *Group) hasten() {
	_, now, ok := g.configuration()
	var voters []protocol.MemberID
	for _, s := range now.Servers {
		if s.Suffrage == raft.Voter {
			voters = append(voters, protocol.MemberID(s.ID))
		}
	}
	slices.Sort(voters)
	if !ok || len(voters) == 0 || voters[0] != g.config.ID || len(voters) > 1 && g.raft.CurrentTerm() > bootTerm {
		return
	}
	heard := g.Heard()
	for _, id := range voters[1:] {
		if _, yes := heard[id]; !yes {
			return
		}
	}
	// A time that gets shorter has the library ask at once whether it is over, and it is without a word of a leader.
	shorter := g.raft.ReloadableConfig()
	shorter.HeartbeatTimeout = g.config.Election
	if err := g.raft.ReloadConfig(shorter); err != nil {
		g.config.Report("ask for votes at once: " + err.Error())
	}
}
