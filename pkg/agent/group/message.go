package group

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// message is one word from an agent to another: an entry for the leader, or its state.
type message struct {
	Entry json.RawMessage `json:"entry,omitempty"`
	State *state          `json:"state,omitempty"`
}

// state is what an agent tells all others every second.
type state struct {
	Log position `json:"log"`
	protocol.Told
}

// mailTimeout bounds a message.
const mailTimeout = time.Second

// mailbox keeps one connection to another member for messages. What can't be sent is dropped: the protocol repeats
// itself.
type mailbox struct {
	network *network
	to      protocol.MemberID
	queue   chan message
}

func (b *mailbox) send(m message) {
	select {
	case b.queue <- m:
	default:
	}
}

func (b *mailbox) run() {
	var c net.Conn
	for {
		select {
		case <-b.network.done:
			if c != nil {
				_ = c.Close()
			}
			return
		case m := <-b.queue:
			if c != nil && pass(c, m) {
				continue
			}
			if c = b.connect(); c != nil && !pass(c, m) {
				c = nil
			}
		}
	}
}

// pass hands a message to the kernel. A connection that takes none is closed.
func pass(c net.Conn, m message) bool {
	err := c.SetWriteDeadline(time.Now().Add(mailTimeout))
	if err == nil {
		err = json.NewEncoder(c).Encode(m)
	}
	if err != nil {
		_ = c.Close()
	}
	return err == nil
}

// connect returns nil if the other member can't be reached. That one sends nothing, but it may end: a connection that
// nobody reads from would take messages for a member that is gone, for as long as the kernel repeats them.
func (b *mailbox) connect() net.Conn {
	c, err := b.network.dial(b.to, forMessages, mailTimeout)
	if err != nil {
		return nil
	}
	go func() {
		_, _ = io.Copy(io.Discard, c)
		_ = c.Close()
	}()
	return c
}

func (g *Group) mailbox(to protocol.MemberID) *mailbox {
	g.mu.Lock()
	defer g.mu.Unlock()
	b := g.mailboxes[to]
	if b == nil {
		b = &mailbox{network: g.network, to: to, queue: make(chan message, 64)}
		g.mailboxes[to] = b
		g.running.Go(b.run)
	}
	return b
}

// agree has the members agree on the entry of another one. All of them stop at one that they can't read, and again
// after each restart, so that never gets into the log: who sent it has a fault, or is not who it should be.
func (g *Group) agree(from protocol.MemberID, entry []byte) {
	if _, err := protocol.Decode(entry); err != nil {
		g.config.Report(fmt.Sprintf("refused an entry of member %s: %v", from, err))
		return
	}
	g.raft.Apply(entry, mailTimeout) // who asked sees the outcome in the log
}

// mostMessage bounds a message: an entry with all settings of a server is a hundredth of it.
const mostMessage = 1 << 20

// hear takes the messages of one connection.
func (g *Group) hear(from hello, c net.Conn) {
	defer c.Close() //nolint:errcheck // nothing is written to it
	bounded := &io.LimitedReader{R: c}
	for d := json.NewDecoder(bounded); ; {
		bounded.N = mostMessage
		var m message
		if err := d.Decode(&m); err != nil || g.machine.removed(from.ID) {
			return
		}
		if m.Entry != nil {
			g.agree(from.ID, m.Entry)
		}
		if m.State != nil {
			from.Log = m.State.Log
			if err := g.network.peers.remember(from, ""); err != nil {
				g.config.Report("remember what member " + string(from.ID) + " holds: " + err.Error())
			}
			g.heard(from.ID)
			g.config.Deliver(protocol.Received{Member: from.ID, Told: m.State.Told})
		}
	}
}
