package group

import (
	"errors"
	"maps"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// Group is the part of one agent in the group.
type Group struct {
	config  Config
	start   start
	raft    *raft.Raft
	inner   *raftboltdb.BoltStore
	store   *store
	network *network
	machine *machine
	memory  memory
	// calls are made one after the other: each may wait for the leader's disk.
	calls   chan func()
	done    chan struct{}
	running sync.WaitGroup
	// last is the index of the last entry when the group was opened.
	last uint64

	// moved says that what it tells changed.
	moved chan struct{}

	mu        sync.Mutex
	mailboxes map[protocol.MemberID]*mailbox
	contact   map[protocol.MemberID]time.Time
	told      protocol.Told
	leading   bool
	leads     atomic.Bool
}

const (
	// keepInterval is how often the group observes its disk, its leader and its members.
	keepInterval = 400 * time.Millisecond
	// stateInterval is how often an agent tells the others what it holds.
	stateInterval = time.Second
	callTimeout   = time.Second
)

func (g *Group) hello() hello {
	return hello{Version: helloVersion, Token: g.config.Token, ID: g.config.ID, Start: g.start, Log: g.store.end()}
}

// Start returns what identifies this start, and the index of the last entry that the log held then.
func (g *Group) Start() (number, nonce, lastIndex uint64) {
	return g.start.Number, g.start.Nonce, g.last
}

// Close leaves the group as a crash would, without a word to the others.
func (g *Group) Close() error {
	close(g.done)
	err := g.network.Close()
	// It may wait for a disk that hangs: what it would return comes to nobody.
	stopped := make(chan error, 1)
	go func() { stopped <- errors.Join(g.raft.Shutdown().Error(), g.inner.Close()) }()
	select {
	case stop := <-stopped:
		err = errors.Join(err, stop)
	case <-time.After(2 * stall):
		err = errors.Join(err, errors.New("stop the group: the disk does not answer"))
	}
	g.running.Wait()
	return err
}

// Propose asks the leader for an entry. Whether it was agreed shows in the events: a loss of the lead while it was
// asked for says neither yes nor no.
func (g *Group) Propose(e protocol.Entry) {
	leader, id := g.raft.LeaderWithID()
	switch {
	case leader == "":
	case protocol.MemberID(id) == g.config.ID:
		g.queue(func() { g.raft.Apply(protocol.Encode(e), callTimeout) })
	default:
		g.mailbox(protocol.MemberID(id)).send(message{Entry: protocol.Encode(e)})
	}
}

// queue drops a call when many wait: the protocol asks again.
func (g *Group) queue(call func()) {
	select {
	case g.calls <- call:
	default:
	}
}

func (g *Group) call() {
	for {
		select {
		case <-g.done:
			return
		case call := <-g.calls:
			call()
		}
	}
}

// Dial connects to a member for a purpose of the agent's own; its handler takes the connection. Both sides prove
// themselves as for the group. The connection is closed when the disk of one side stalls.
func (g *Group) Dial(id protocol.MemberID, p Purpose) (net.Conn, error) {
	return g.network.dial(id, p, callTimeout)
}

// GiveVote lets a member vote. The change is refused if the configuration has changed since the one that is known.
func (g *Group) GiveVote(id protocol.MemberID) {
	g.queue(func() {
		if index, _, ok := g.configuration(); ok {
			g.raft.AddVoter(raft.ServerID(id), raft.ServerAddress(id), index, callTimeout)
		}
	})
}

// TakeVote keeps a member in the group without a vote.
func (g *Group) TakeVote(id protocol.MemberID) {
	g.queue(func() {
		if index, _, ok := g.configuration(); ok {
			g.raft.DemoteVoter(raft.ServerID(id), index, callTimeout)
		}
	})
}

// hurry has the followers learn at once what was agreed on: they would with the next entry, or after CommitTimeout.
// Plain renewals can wait for that.
func (g *Group) hurry() {
	if g.leads.Load() {
		g.queue(func() { g.raft.Barrier(callTimeout) })
	}
}

// StepDown has another voter lead.
func (g *Group) StepDown() { g.queue(func() { g.raft.LeadershipTransfer() }) }

// Tell sets what this agent tells the others of its server: at once if it changed.
func (g *Group) Tell(t protocol.Told) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.told != t {
		select {
		case g.moved <- struct{}{}:
		default:
		}
	}
	g.told = t
}

// Leader returns who leads the group, or "".
func (g *Group) Leader() protocol.MemberID {
	_, id := g.raft.LeaderWithID()
	return protocol.MemberID(id)
}

// Heard returns when each member was last heard of.
func (g *Group) Heard() map[protocol.MemberID]time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.contact)
}

func (g *Group) configuration() (uint64, raft.Configuration, bool) {
	f := g.raft.GetConfiguration()
	return f.Index(), f.Configuration(), f.Error() == nil
}
