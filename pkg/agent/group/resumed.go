package group

import (
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// resumed is a transport on which entries for a follower that does not answer wait until it answers a heartbeat. The
// library sends them again after a time that doubles up to 10.24 s, whatever is answered meanwhile (replicateTo of
// hashicorp/raft v1.7.3). So a follower that is back could learn of nothing for that long, and with another one lost
// by then the group would agree on nothing for longer than a lease.
type resumed struct {
	*raft.NetworkTransport
	// follows says whether this member leads the group and another one belongs to it. Otherwise nothing waits.
	follows func(raft.ServerID) bool

	mu sync.Mutex
	// term is the newest one in which this member sent something.
	term uint64
	// silent are the followers that did not answer what they were sent last. Each channel is closed by an answer.
	silent map[raft.ServerID]chan struct{}
}

// followTime is how often who waits asks whether this member leads still.
const followTime = 100 * time.Millisecond

var errSilent = errors.New("it does not answer, and this member does not lead it any more")

func newResumed(t *raft.NetworkTransport, follows func(raft.ServerID) bool) *resumed {
	return &resumed{NetworkTransport: t, follows: follows, silent: map[raft.ServerID]chan struct{}{}}
}

// AppendEntries sends a heartbeat at once, and entries to a follower that answers.
func (r *resumed) AppendEntries(id raft.ServerID, target raft.ServerAddress, args *raft.AppendEntriesRequest,
	resp *raft.AppendEntriesResponse,
) error {
	r.leads(args.Term)
	if !heartbeat(args) {
		if err := r.await(id, args.Term); err != nil {
			return err
		}
	}
	err := r.NetworkTransport.AppendEntries(id, target, args, resp)
	r.heard(id, err == nil)
	return err
}

// InstallSnapshot sends a snapshot to a follower that answers.
func (r *resumed) InstallSnapshot(id raft.ServerID, target raft.ServerAddress, args *raft.InstallSnapshotRequest,
	resp *raft.InstallSnapshotResponse, data io.Reader,
) error {
	r.leads(args.Term)
	if err := r.await(id, args.Term); err != nil {
		return err
	}
	err := r.NetworkTransport.InstallSnapshot(id, target, args, resp, data)
	r.heard(id, err == nil)
	return err
}

// leads notes that this member leads in a term. What waits since an older one ends.
func (r *resumed) leads(term uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.term = max(r.term, term)
}

func (r *resumed) heard(id raft.ServerID, answered bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	back, silent := r.silent[id]
	switch {
	case answered && silent:
		close(back)
		delete(r.silent, id)
	case !answered && !silent:
		r.silent[id] = make(chan struct{})
	}
}

// await returns nil once a follower answered what it was sent last.
func (r *resumed) await(id raft.ServerID, term uint64) error {
	for {
		r.mu.Lock()
		back, silent := r.silent[id]
		stale := term < r.term
		r.mu.Unlock()
		switch {
		case !silent:
			return nil
		case stale, !r.follows(id):
			return errSilent
		}
		select {
		case <-back:
		case <-time.After(followTime):
		}
	}
}

// heartbeat says whether a request is one: all else says where in the log it belongs.
func heartbeat(args *raft.AppendEntriesRequest) bool {
	return len(args.Entries) == 0 && args.PrevLogEntry == 0 && args.PrevLogTerm == 0 && args.LeaderCommitIndex == 0
}

// follows says whether this member leads the group and another one belongs to it.
func (g *Group) follows(id raft.ServerID) bool {
	select {
	case <-g.done:
		return false
	default:
	}
	if !g.leads.Load() {
		return false
	}
	_, now, ok := g.configuration()
	return ok && slices.ContainsFunc(now.Servers, func(s raft.Server) bool { return s.ID == id })
}
