package group

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/certificate"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/disk"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/lookup"
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
	// Identity returns the certificate that names the member, and the authority that signed those of all members and of
	// nobody else. It is asked at each handshake: both may be replaced.
	Identity func() certificate.Identity
	// Address returns host and port of a member.
	Address func(protocol.MemberID) string
	// Bootstrap names the first voters, alike at all first members. It has an effect on an empty directory only. A member
	// that joins later has none.
	Bootstrap []protocol.MemberID
	// Election is the time without a word of the leader after which a voter asks for votes.
	Election time.Duration
	// Ballast is how many bytes of the volume are taken while there is room. A part of them is the log's for good. The
	// others are given up when the disk is full.
	Ballast int64
	// Deliver takes events in order. It must not block.
	Deliver func(protocol.Event)
	// Report takes what a person should know.
	Report func(string)
	// Handlers take connections of members that dialled for a purpose of the agent's own. One that returns ends its
	// connection.
	Handlers map[Purpose]func(from protocol.MemberID, c net.Conn)
	Log      io.Writer
	// wrap lets tests stand between the group and its disk, find between it and DNS.
	wrap func(durable) durable
	find func(ctx context.Context, address string) ([]string, error)
}

// logFile is in the directory of the group.
const logFile = "log.db"

// logShare is which part of the ballast is the log's own. A server that lives on a full disk would take what is given
// up, and the member could not agree to a lease any more.
const logShare = 4

// Open starts the part of one member. It counts a start, on disk, before it speaks to anybody.
func Open(c Config) (*Group, error) {
	g := &Group{
		calls: make(chan func(), 64), moved: make(chan struct{}, 1), done: make(chan struct{}),
		machine:   &machine{deliver: c.Deliver, changed: make(chan struct{}, 1)},
		mailboxes: map[protocol.MemberID]*mailbox{}, contact: map[protocol.MemberID]time.Time{},
	}
	c.Report = seldom(c.Report)
	g.config = c
	if err := os.MkdirAll(c.Directory, 0o700); err != nil {
		return nil, fmt.Errorf("open the group's directory: %w", err)
	}
	inner, err := raftboltdb.New(raftboltdb.Options{Path: filepath.Join(c.Directory, logFile)})
	if err != nil {
		return nil, fmt.Errorf("open the log of the group in %s: %w", c.Directory, err)
	}
	g.inner = inner
	var log durable = inner
	if c.wrap != nil {
		log = c.wrap(log)
	}
	if err := g.open(log); err != nil {
		return nil, errors.Join(err, inner.Close())
	}
	return g, nil
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
	config := raft.DefaultConfig()
	config.LocalID = raft.ServerID(c.ID)
	// They are more than hasten asks for: the library acts at once only on a time that gets shorter.
	config.HeartbeatTimeout, config.ElectionTimeout = c.Election+time.Nanosecond, c.Election+time.Nanosecond
	config.LeaderLeaseTimeout = c.Election
	// The next entry tells that the last one was agreed on, and a renewal comes as often.
	config.CommitTimeout = c.Election
	config.ShutdownOnRemove, config.NoLegacyTelemetry, config.Logger = false, true, log
	config.SnapshotThreshold, config.TrailingLogs = 4096, 1024
	if err := c.recover(config, inner, snapshots); err != nil {
		return err
	}
	var end position
	if list, err := snapshots.List(); err == nil && len(list) > 0 {
		end = position{Term: list[0].Term, Index: list[0].Index}
	}
	own := c.Ballast / logShare
	weight := ballast{path: filepath.Join(c.Directory, "ballast"), size: c.Ballast - own}
	if g.store, err = newStore(inner, end, weight.free); err != nil {
		return fmt.Errorf("read the log of the group in %s: %w", c.Directory, err)
	}
	g.last = g.store.end().Index
	if err := errors.Join(disk.Reserve(filepath.Join(c.Directory, logFile), own), weight.fill()); err != nil {
		c.Report("the volume has no room for the ballast of the group: " + err.Error())
	}
	if g.memory, err = openMemory(c.Directory, c.Token); err != nil {
		c.Report(err.Error())
	}
	known, err := openPeers(c.Token, filepath.Join(c.Directory, peersFile))
	if err != nil {
		return err
	}
	if c.find == nil {
		c.find = lookup.Addresses
	}
	g.network = &network{
		id: c.ID, listener: c.Listener, tls: memberTLS(c.Identity, c.Report), peers: known, hello: g.hello,
		address: c.Address, find: c.find, report: c.Report, accepted: make(chan net.Conn), messages: g.hear,
		removed: g.machine.removed, handlers: c.Handlers,
		done: make(chan struct{}), conns: map[net.Conn]bool{},
	}
	transport := newPaced(newResumed(raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: g.network, MaxPool: 2, MaxRPCsInFlight: 1, Timeout: callTimeout, Logger: log,
	}), g.follows), c.Election, func() bool { return g.store.hangs(time.Now(), c.Election) })
	g.machine.hurry = g.hurry
	if err := g.bootstrap(config, snapshots, transport); err != nil {
		return errors.Join(err, transport.Close())
	}
	// What was stored last is sent to each follower, and not read from the disk for that.
	cache, err := raft.NewLogCache(cached, g.store)
	if err != nil {
		return errors.Join(fmt.Errorf("start the group: %w", err), transport.Close())
	}
	if g.raft, err = raft.NewRaft(config, g.machine, cache, g.store, snapshots, transport); err != nil {
		return errors.Join(fmt.Errorf("start the group: %w", err), transport.Close())
	}
	g.hasten()
	g.running.Go(g.call)
	g.running.Go(g.keep)
	g.running.Go(g.remember)
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
