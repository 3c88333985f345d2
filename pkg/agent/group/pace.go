package group

import (
	"time"

	"github.com/hashicorp/raft"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/pulse"
)

// paced is a transport on which heartbeats have a least interval: the library sends one each tenth of the time in which
// a follower expects one, which costs more at rest than all else that an agent does.
type paced struct {
	*raft.NetworkTransport
	interval time.Duration
}

// heartbeats is how many of them fit at least in the time in which a follower expects one.
const heartbeats = 2.5

func newPaced(t *raft.NetworkTransport, election time.Duration) *paced {
	return &paced{NetworkTransport: t, interval: time.Duration(float64(election) / heartbeats)}
}

// AppendEntries sends entries at once, and a heartbeat with the next pulse.
func (p *paced) AppendEntries(id raft.ServerID, target raft.ServerAddress, args *raft.AppendEntriesRequest,
	resp *raft.AppendEntriesResponse,
) error {
	if len(args.Entries) == 0 && args.PrevLogEntry == 0 && args.PrevLogTerm == 0 && args.LeaderCommitIndex == 0 {
		time.Sleep(pulse.Next(p.interval))
	}
	bound(args)
	return p.NetworkTransport.AppendEntries(id, target, args, resp)
}

// bound lowers the index that a follower may commit to that of the last entry which the request proves: the one before
// those it brings, or the last of these. The library has a follower commit up to the leader's index as far as its own
// log goes. It reads the leader's index later than the end of what it sends, after a wait where the follower did not
// answer. So a follower could commit entries of a former leader that the request doesn't replace, and another history
// than all others. Raft (Ongaro and Ousterhout 2014, figure 2) takes the lower of the leader's index and that of the
// last new entry; the same fault is told in scylladb/scylladb#9965.
func bound(args *raft.AppendEntriesRequest) {
	last := args.PrevLogEntry
	if n := len(args.Entries); n > 0 {
		last = args.Entries[n-1].Index
	}
	args.LeaderCommitIndex = min(args.LeaderCommitIndex, last)
}
