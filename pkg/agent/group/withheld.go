package group

import (
	"slices"
	"time"

	"github.com/hashicorp/raft"
)

// withheldPause is the time after which a leader asks again whether a change is agreed that a follower waits for.
const withheldPause = 20 * time.Millisecond

// withhold leaves out of a request each change of the votes that leaves its follower without one, and what comes after
// it, until the change is agreed, and says whether that is all that the request brings. A member counts its votes by
// the newest change in its log, agreed or not, and without a vote of its own it never asks for votes (runFollower of
// hashicorp/raft v1.7.3; Ongaro 2014, 4.2.2, has it ask). If it were the only one that got the change from a leader
// that is lost, then the others, whose logs are shorter, would need its vote and not get it: no leader, however many
// members are there. The change needs no confirmation of that follower, so it is agreed without it.
func withhold(id raft.ServerID, args *raft.AppendEntriesRequest) bool {
	i := slices.IndexFunc(args.Entries, func(l *raft.Log) bool {
		return l.Index > args.LeaderCommitIndex && l.Type == raft.LogConfiguration &&
			!votes(raft.DecodeConfiguration(l.Data), id)
	})
	if i < 0 {
		return false
	}
	args.Entries = args.Entries[:i]
	return i == 0
}

func votes(c raft.Configuration, id raft.ServerID) bool {
	return slices.ContainsFunc(c.Servers, func(s raft.Server) bool { return s.ID == id && s.Suffrage == raft.Voter })
}
