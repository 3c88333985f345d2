package group

import (
	"errors"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/pulse"
)

// paced is a transport on which heartbeats have a least interval: the library sends one each tenth of the time in which
// a follower expects one, which costs more at rest than all else that an agent does. What a follower answered to
// entries counts as one: it has heard of its leader.
type paced struct {
	*resumed
	pace
	// hangs says that the log of this member has been hanging for as long as a follower waits for its leader. A leader
	// is silent then: it agrees on nothing, and its heartbeats, which don't pass through the log, would keep the others
	// from electing one that does, until a primary elsewhere has lost its lease.
	hangs func() bool
}

var errHangs = errors.New("the log of this member hangs: it does not lead")

// heartbeats is how many of them fit at least in the time in which a follower expects one.
const heartbeats = 2.5

func newPaced(t *resumed, election time.Duration, hangs func() bool) *paced {
	return &paced{resumed: t, hangs: hangs, pace: pace{interval: time.Duration(float64(election) / heartbeats),
		sent: map[raft.ServerID]time.Time{}}}
}

// pace knows when each follower was last sent a heartbeat, or entries that it answered.
type pace struct {
	interval time.Duration

	mu   sync.Mutex
	sent map[raft.ServerID]time.Time
}

func (p *pace) note(id raft.ServerID, sent time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if sent.After(p.sent[id]) {
		p.sent[id] = sent
	}
}

// due is the time until a follower has heard nothing for an interval.
func (p *pace) due(id raft.ServerID) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.interval - time.Since(p.sent[id])
}

// wait returns once a heartbeat is due, within a sixteenth of the interval, with a pulse if there is one before.
func (p *pace) wait(id raft.ServerID) {
	for due := p.due(id); due > p.interval/16; due = p.due(id) {
		next := pulse.Next(p.interval / 2)
		if next > due {
			next = due
		} else {
			next += (due - next).Truncate(p.interval / 2)
		}
		time.Sleep(next)
	}
}

// AppendEntries sends entries at once, and a heartbeat when one is due.
func (p *paced) AppendEntries(id raft.ServerID, target raft.ServerAddress, args *raft.AppendEntriesRequest,
	resp *raft.AppendEntriesResponse,
) error {
	beat := heartbeat(args)
	if beat {
		p.wait(id)
	}
	if len(args.Entries) == 0 && p.hangs() {
		return errHangs
	}
	if withhold(id, args) { // what was agreed until now is told all the same
		time.Sleep(withheldPause)
	}
	bound(args)
	sent := time.Now()
	err := p.resumed.AppendEntries(id, target, args, resp)
	if err == nil || beat {
		p.note(id, sent)
	}
	return err
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
