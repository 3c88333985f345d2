package stream

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// Dial connects to the agent of a member.
type Dial func(protocol.MemberID) (net.Conn, error)

// request is the first line on a connection between two agents. It is answered by the line "ok".
type request struct {
	Generation protocol.Generation `json:"generation"`
	// Copy names the copy of the data that asks, "" for a tool.
	Copy string `json:"copy,omitempty"`
}

// answerTimeout bounds the answer of the other agent.
const answerTimeout = 2 * time.Second

// dialPause is the time between two attempts to reach a primary.
const dialPause = 100 * time.Millisecond

// Upstream is the end of a replica: two sockets beside its server. The one for the server passes only while the replica
// is linked, the one for tools (a clone, a rewind, questions) as soon as a primary is aimed at. A server that asks
// before that is kept waiting.
type Upstream struct {
	// Ended is called when a stream of the server ended.
	Ended func()

	dial           Dial
	servers, tools net.Listener
	running        sync.WaitGroup

	mu sync.Mutex
	// to is the primary that is aimed at; linked says that the server may stream from it.
	to         protocol.MemberID
	generation protocol.Generation
	copied     string
	linked     bool
	// last is when the server was linked, or last received something.
	last time.Time
	// conns are all that are open, waiting those of the server that wait for a primary.
	conns   map[net.Conn]bool
	waiting map[net.Conn]bool
	// change is closed when the state changes.
	change chan struct{}
}

// Listen opens the two sockets.
func Listen(servers, tools string, dial Dial) (*Upstream, error) {
	s, err := listen(servers)
	if err != nil {
		return nil, err
	}
	t, err := listen(tools)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	u := &Upstream{
		dial: dial, servers: s, tools: t, change: make(chan struct{}),
		conns: map[net.Conn]bool{}, waiting: map[net.Conn]bool{},
	}
	u.running.Go(func() { u.serve(s, true) })
	u.running.Go(func() { u.serve(t, false) })
	return u, nil
}

// Aim chooses the primary that tools reach. Whatever was connected before ends.
func (u *Upstream) Aim(to protocol.MemberID, g protocol.Generation) {
	u.Cut()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.to, u.generation = to, g
}

// Link lets the server stream from the primary that is aimed at; copied names its copy of the data.
func (u *Upstream) Link(copied string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.linked, u.copied, u.last = u.to != "", copied, time.Now()
	u.changed()
}

// Linked returns the primary that the server may stream from, and its generation, or "".
func (u *Upstream) Linked() (protocol.MemberID, protocol.Generation) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.linked {
		return "", 0
	}
	return u.to, u.generation
}

// Cut ends every connection, and lets none pass before the next Aim. When it returns, no byte passes any more.
func (u *Upstream) Cut() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.to, u.linked = "", false
	for c := range u.conns {
		_ = c.Close()
	}
	clear(u.conns)
	clear(u.waiting)
	u.changed()
}

func (u *Upstream) changed() {
	close(u.change)
	u.change = make(chan struct{})
}

func (u *Upstream) moved() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.last = time.Now()
}

// Idle is how long the server has been linked without receiving anything. A primary that has nothing to send says so
// every few seconds.
func (u *Upstream) Idle() time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.linked {
		return 0
	}
	return time.Since(u.last)
}

// Waiting says that the server asks for more and is kept waiting: it has used up the log that it has on disk.
func (u *Upstream) Waiting() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.waiting) > 0
}

// Close ends all of it.
func (u *Upstream) Close() error {
	err := errors.Join(u.servers.Close(), u.tools.Close())
	u.Cut()
	u.running.Wait()
	return err
}

func (u *Upstream) serve(l net.Listener, server bool) {
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond) // out of descriptors, for example
			continue
		}
		go u.pass(c, server)
	}
}

func (u *Upstream) pass(local net.Conn, server bool) {
	defer u.forget(local)
	u.mu.Lock()
	u.conns[local] = true
	if server {
		u.waiting[local] = true
	}
	u.mu.Unlock()
	remote := u.reach(local, server)
	if remote == nil {
		return
	}
	defer u.forget(remote)
	moved := func() {}
	if server {
		moved = u.moved
	}
	join(local, remote, moved)
	if server && u.Ended != nil {
		u.Ended()
	}
}

func (u *Upstream) forget(c net.Conn) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.conns, c)
	delete(u.waiting, c)
	_ = c.Close()
}

// reach connects to the primary for a local connection, or returns nil if that was cut. A server waits for it, a tool
// gets one attempt.
func (u *Upstream) reach(local net.Conn, server bool) net.Conn {
	for {
		u.mu.Lock()
		to, asks, change := u.to, request{Generation: u.generation}, u.change
		ready := to != "" && (!server || u.linked)
		if server {
			asks.Copy = u.copied
		}
		open := u.conns[local]
		u.mu.Unlock()
		if !open || !ready && !server {
			return nil
		}
		var again <-chan time.Time
		if ready {
			if remote := u.connect(local, to, asks); remote != nil || !server {
				return remote
			}
			again = time.After(dialPause)
		}
		select {
		case <-change:
		case <-again:
		}
	}
}

// connect makes one attempt. It returns nil as well if the local connection was cut meanwhile.
func (u *Upstream) connect(local net.Conn, to protocol.MemberID, asks request) net.Conn {
	remote, err := u.dial(to)
	if err != nil {
		return nil
	}
	if err := ask(remote, asks); err != nil {
		_ = remote.Close()
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.conns[local] {
		_ = remote.Close()
		return nil
	}
	u.conns[remote] = true
	delete(u.waiting, local)
	return remote
}

func ask(c net.Conn, r request) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := c.SetDeadline(time.Now().Add(answerTimeout)); err != nil {
		return err
	}
	if _, err := c.Write(append(raw, '\n')); err != nil {
		return err
	}
	answer, err := line(c)
	if err != nil {
		return err
	}
	if answer != "ok" {
		return fmt.Errorf("ask a primary of generation %d for its log: %s", r.Generation, answer)
	}
	return c.SetDeadline(time.Time{})
}
