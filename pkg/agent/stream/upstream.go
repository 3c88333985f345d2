//go:build linux

package stream

import (
	"context"
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

// Source names a server outside of the group where the name of a primary is expected. No member has that name.
const Source protocol.MemberID = ":source"

// Upstream is the end of a replica: two sockets beside its server. The one for the server passes only while the replica
// is linked, the one for tools (a clone, a rewind, questions) as soon as a primary is aimed at. A server that asks
// before that is kept waiting.
type Upstream struct {
	// Ended is called when a stream of the server ended.
	Ended func()
	// Greet, if set, takes a connection first and returns what the server sends after that. An error ends it.
	Greet func(server net.Conn) (net.Conn, error)
	// External, if set, connects to the server outside of the group that Source names.
	External func() (net.Conn, error)
	// Watch, if set, returns what the server may read of what its primary sends.
	Watch func(primary net.Conn) net.Conn

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
	// cuts counts those so far: what was asked of a primary before one of them counts no more.
	cuts   int
	closed bool
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
	u := New(s, t, dial)
	u.Start()
	return u, nil
}

// New returns the end of a replica for sockets that are open; tools may be nil.
func New(servers, tools net.Listener, dial Dial) *Upstream {
	return &Upstream{
		dial: dial, servers: servers, tools: tools, change: make(chan struct{}),
		conns: map[net.Conn]bool{}, waiting: map[net.Conn]bool{},
	}
}

// Start takes connections.
func (u *Upstream) Start() {
	u.running.Go(func() { u.serve(u.servers, true) })
	if u.tools != nil {
		u.running.Go(func() { u.serve(u.tools, false) })
	}
}

// Aim chooses the primary that tools reach. Whatever was connected before ends.
func (u *Upstream) Aim(to protocol.MemberID, g protocol.Generation) {
	u.Cut()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.to, u.generation = to, g
	u.changed()
}

// Link lets the server stream from the primary that is aimed at; copied names its copy of the data.
func (u *Upstream) Link(copied string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.prune()
	u.linked, u.copied, u.last = u.to != "", copied, time.Now()
	u.changed()
}

// Facts asks the primary that is aimed at for what its driver tells. A primary that does not serve yet answers within a
// second. It ends with the context, whatever the primary does.
func (u *Upstream) Facts(ctx context.Context, facts any) error {
	u.mu.Lock()
	to, r := u.to, request{Generation: u.generation, Facts: true}
	u.mu.Unlock()
	if to == "" {
		return errors.New("ask a primary for its facts: none is chosen")
	}
	remote, err := u.dialWithin(ctx, to)
	if err != nil {
		return fmt.Errorf("ask a primary for its facts: %w", err)
	}
	defer remote.Close() //nolint:errcheck // all was read
	defer context.AfterFunc(ctx, func() { _ = remote.Close() })()
	if err := ask(remote, r); err != nil {
		return err
	}
	if err := remote.SetDeadline(time.Now().Add(answerTimeout)); err != nil {
		return fmt.Errorf("ask a primary for its facts: %w", err)
	}
	if err := json.NewDecoder(remote).Decode(facts); err != nil {
		return fmt.Errorf("read the facts of a primary: %w", err)
	}
	return nil
}

// dialWithin dials as long as the context lasts. A connection that comes later is closed.
func (u *Upstream) dialWithin(ctx context.Context, to protocol.MemberID) (net.Conn, error) {
	var remote net.Conn
	var err error
	dialed := make(chan struct{})
	go func() {
		defer close(dialed)
		remote, err = u.dial(to)
	}()
	select {
	case <-dialed:
		return remote, err
	case <-ctx.Done():
		go func() {
			if <-dialed; err == nil {
				_ = remote.Close()
			}
		}()
		return nil, ctx.Err()
	}
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

// Cut ends every connection, and lets none pass before the next Aim. When it returns, no byte passes any more. A server
// that is kept waiting has been sent nothing, and waits on, unless it was greeted: it may have said by then where it
// goes on.
func (u *Upstream) Cut() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.to, u.linked = "", false
	u.cuts++
	for c := range u.conns {
		if !u.waiting[c] || u.Greet != nil || u.closed {
			u.end(c)
		}
	}
	u.prune()
	u.changed()
}

// prune ends what a server that ended left waiting.
func (u *Upstream) prune() {
	for c := range u.waiting {
		if hungUp(c) {
			u.end(c)
		}
	}
}

func (u *Upstream) end(c net.Conn) {
	_ = c.Close()
	delete(u.conns, c)
	delete(u.waiting, c)
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
	u.prune()
	return len(u.waiting) > 0
}

// Close ends all of it.
func (u *Upstream) Close() error {
	u.mu.Lock()
	u.closed = true
	u.mu.Unlock()
	err := u.servers.Close()
	if u.tools != nil {
		err = errors.Join(err, u.tools.Close())
	}
	u.Cut()
	u.running.Wait()
	return err
}
