package sentinel

import (
	"bufio"
	"net"
	"path"
	"sync"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/resp"
)

const (
	// provesWithin is how long a client may take until it has proved who it is.
	provesWithin = 10 * time.Second
	// writesWithin bounds an answer to a client that does not read.
	writesWithin = 5 * time.Second
	// mostWaiting bounds what such a client is told meanwhile.
	mostWaiting = 64
)

// bounds are those of a command of a client.
var bounds = resp.Bounds{Arguments: 64, Bytes: 16 << 10}

// session is one client.
type session struct {
	server *Server
	conn   net.Conn
	id     int
	out    chan []byte
	// done is closed when the session is, ended when nothing is written any more.
	done, ended chan struct{}
	once        sync.Once

	// Of these only the client's own commands know.
	user, name string
	quit       bool

	mu sync.Mutex
	// version is that of the protocol.
	version            int
	channels, patterns map[string]bool
}

func newSession(s *Server, conn net.Conn, id int) *session {
	return &session{
		server: s, conn: conn, id: id, version: 2, out: make(chan []byte, mostWaiting),
		done: make(chan struct{}), ended: make(chan struct{}), channels: map[string]bool{},
		patterns: map[string]bool{},
	}
}

// serve answers one command after the other, until the client leaves or is not understood.
func (c *session) serve() {
	in := bufio.NewReader(c.conn)
	_ = c.conn.SetReadDeadline(time.Now().Add(provesWithin))
	for !c.quit {
		args, err := resp.ReadCommand(in, bounds)
		if err != nil {
			return
		}
		before := c.user
		for _, answer := range c.answer(args) {
			c.send(answer)
		}
		if before == "" && c.user != "" {
			_ = c.conn.SetReadDeadline(time.Time{})
		}
	}
	select { // what was said is sent first
	case c.out <- nil:
		<-c.ended
	default:
	}
}

// send never waits: a client that reads nothing is left.
func (c *session) send(answer any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sendLocked(answer)
}

func (c *session) sendLocked(answer any) {
	select {
	case c.out <- resp.Append(nil, answer, c.version):
	default:
		_ = c.conn.Close()
	}
}

// publish tells a client that subscribed.
func (c *session) publish(channel, message string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.channels[channel] {
		c.sendLocked(resp.Push{"message", channel, message})
	}
	for p := range c.patterns {
		if matched, err := path.Match(p, channel); err == nil && matched {
			c.sendLocked(resp.Push{"pmessage", p, channel, message})
		}
	}
}

// write sends what there is to say until the session is closed, or until nil.
func (c *session) write() {
	defer close(c.ended)
	for {
		select {
		case <-c.done:
			return
		case b := <-c.out:
			_ = c.conn.SetWriteDeadline(time.Now().Add(writesWithin))
			if b == nil {
				return
			}
			if _, err := c.conn.Write(b); err != nil {
				_ = c.conn.Close() // the reader sees it
				return
			}
		}
	}
}

// close ends both sides. It may be called again.
func (c *session) close() {
	c.once.Do(func() {
		close(c.done)
		_ = c.conn.Close()
	})
}
