package group

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// Config is what a group needs of the agent. All fields but Bootstrap are required.
type Config struct {
	ID protocol.MemberID
	// Token identifies the incarnation.
	Token string
	// Directory keeps the log; it lies on the volume of the member.
	Directory string
	Listener  net.Listener
	// Certificate names the member; Authority signed those of all members, and of nobody else.
	Certificate tls.Certificate
	Authority   *x509.CertPool
	// Address returns host and port of a member.
	Address func(protocol.MemberID) string
	// Bootstrap names the first voters, alike at all first members. It has an effect on an empty directory only. A member
	// that joins later has none.
	Bootstrap []protocol.MemberID
	// Election is the time without a word of the leader after which a voter asks for votes.
	Election time.Duration
	// Ballast is the size of the file that is given up when the disk is full.
	Ballast int64
	// Deliver takes events in order. It must not block.
	Deliver func(protocol.Event)
	// Report takes what a person should know.
	Report func(string)
	// Handlers take connections of members that dialled for a purpose of the agent's own. One that returns ends its
	// connection.
	Handlers map[Purpose]func(from protocol.MemberID, c net.Conn)
	Log      io.Writer
	// wrap lets tests stand between the group and its disk.
	wrap func(durable) durable
}

// Group is the part of one agent in the group.
type Group struct {
	config  Config
	start   start
	raft    *raft.Raft
	inner   *raftboltdb.BoltStore
	store   *store
	network *network
	machine *machine
	// calls are made one after the other: each may wait for the leader's disk.
	calls   chan func()
	done    chan struct{}
	running sync.WaitGroup
	// last is the index of the last entry when the group was opened.
	last uint64

	// moved says that the position changed.
	moved chan struct{}

	mu        sync.Mutex
	mailboxes map[protocol.MemberID]*mailbox
	contact   map[protocol.MemberID]time.Time
	position  protocol.Position
	leading   bool
	leads     atomic.Bool
}

const (
	// keepInterval is how often the group observes its disk, its leader and its members.
	keepInterval = 250 * time.Millisecond
	// stateInterval is how often an agent tells the others what it holds.
	stateInterval = time.Second
	callTimeout   = time.Second
)

// Open starts the part of one member. It counts a start, on disk, before it speaks to anybody.
func Open(c Config) (*Group, error) {
	g := &Group{
		calls: make(chan func(), 64), moved: make(chan struct{}, 1), done: make(chan struct{}),
		machine:   &machine{deliver: c.Deliver},
		mailboxes: map[protocol.MemberID]*mailbox{}, contact: map[protocol.MemberID]time.Time{},
	}
	c.Report = seldom(c.Report)
	g.config = c
	if err := os.MkdirAll(c.Directory, 0o700); err != nil {
		return nil, fmt.Errorf("open the group's directory: %w", err)
	}
	inner, err := raftboltdb.New(raftboltdb.Options{Path: filepath.Join(c.Directory, "log.db")})
	if err != nil {
		return nil, fmt.Errorf("open the log of the group in %s: %w", c.Directory, err)
	}
	g.inner = inner
	var disk durable = inner
	if c.wrap != nil {
		disk = c.wrap(disk)
	}
	if err := g.open(disk); err != nil {
		return nil, errors.Join(err, inner.Close())
	}
	return g, nil
}

// seldom reports the same at most once a minute: what is refused comes again at once.
func seldom(report func(string)) func(string) {
	var mu sync.Mutex
	last := map[string]time.Time{}
	return func(what string) {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(last[what]) < time.Minute {
			return
		}
		maps.DeleteFunc(last, func(_ string, at time.Time) bool { return time.Since(at) >= time.Minute })
		last[what] = time.Now()
		report(what)
	}
}

func (g *Group) open(inner durable) error {
	c := g.config
	var err error
	if g.start, err = nextStart(c.Directory); err != nil {
		return err
	}
	log := hclog.New(&hclog.LoggerOptions{Name: "group", Output: c.Log, Level: hclog.Warn})
	snapshots, err := raft.NewFileSnapshotStoreWithLogger(c.Directory, 2, log)
	if err != nil {
		return fmt.Errorf("open the snapshots of the group in %s: %w", c.Directory, err)
	}
	var end position
	if list, err := snapshots.List(); err == nil && len(list) > 0 {
		end = position{Term: list[0].Term, Index: list[0].Index}
	}
	weight := ballast{path: filepath.Join(c.Directory, "ballast"), size: c.Ballast}
	if g.store, err = newStore(inner, end, weight.free); err != nil {
		return fmt.Errorf("read the log of the group in %s: %w", c.Directory, err)
	}
	g.last = g.store.end().Index
	if err := weight.fill(); err != nil {
		c.Report("the volume has no room for the ballast of the group: " + err.Error())
	}
	known, err := openPeers(c.Token, filepath.Join(c.Directory, "peers.json"))
	if err != nil {
		return err
	}
	g.network = &network{
		listener: c.Listener, tls: memberTLS(c.Certificate, c.Authority, c.Report), peers: known, hello: g.hello,
		address: c.Address, report: c.Report, accepted: make(chan net.Conn), messages: g.hear, handlers: c.Handlers,
		done: make(chan struct{}), conns: map[net.Conn]bool{},
	}
	transport := raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: g.network, MaxPool: 2, MaxRPCsInFlight: 1, Timeout: callTimeout, Logger: log,
	})
	config := raft.DefaultConfig()
	config.LocalID = raft.ServerID(c.ID)
	config.HeartbeatTimeout, config.ElectionTimeout, config.LeaderLeaseTimeout = c.Election, c.Election, c.Election/2
	config.CommitTimeout = c.Election / 2
	config.ShutdownOnRemove, config.NoLegacyTelemetry, config.Logger = false, true, log
	config.SnapshotThreshold, config.TrailingLogs = 4096, 1024
	g.machine.hurry = g.hurry
	if err := g.bootstrap(config, snapshots, transport); err != nil {
		return errors.Join(err, transport.Close())
	}
	if g.raft, err = raft.NewRaft(config, g.machine, g.store, g.store, snapshots, transport); err != nil {
		return errors.Join(fmt.Errorf("start the group: %w", err), transport.Close())
	}
	g.running.Go(g.call)
	g.running.Go(g.keep)
	g.running.Go(g.tell)
	g.running.Go(g.network.serve)
	return nil
}

// bootstrap writes the first configuration, which is the same at all first members, into an empty log.
func (g *Group) bootstrap(config *raft.Config, snapshots raft.SnapshotStore, transport raft.Transport) error {
	if len(g.config.Bootstrap) == 0 {
		return nil
	}
	var first raft.Configuration
	for _, id := range slices.Sorted(slices.Values(g.config.Bootstrap)) {
		first.Servers = append(first.Servers, raft.Server{ID: raft.ServerID(id), Address: raft.ServerAddress(id)})
	}
	err := raft.BootstrapCluster(config, g.store, g.store, snapshots, transport, first)
	if err != nil && !errors.Is(err, raft.ErrCantBootstrap) {
		return fmt.Errorf("write the first configuration of the group: %w", err)
	}
	return nil
}

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

// Tell sets the position that this agent tells the others: at once if it changed.
func (g *Group) Tell(p protocol.Position) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.position != p {
		select {
		case g.moved <- struct{}{}:
		default:
		}
	}
	g.position = p
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
