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
	return p.NetworkTransport.AppendEntries(id, target, args, resp)
}
