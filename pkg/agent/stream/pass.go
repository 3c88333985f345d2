//go:build linux

package stream

import (
	"errors"
	"net"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// dialPause is the time between two attempts to reach a primary.
const dialPause = 50 * time.Millisecond

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
	u.mu.Unlock()
	from := local
	if server && u.Greet != nil {
		var err error
		if from, err = u.Greet(local); err != nil {
			return
		}
	}
	if server {
		u.mu.Lock()
		if u.conns[local] {
			u.waiting[local] = true
		}
		u.mu.Unlock()
	}
	remote := u.reach(local, server)
	if remote == nil {
		return
	}
	defer u.forget(remote)
	moved, to := func() {}, remote
	if server {
		moved = u.moved
		if u.Watch != nil {
			to = u.Watch(remote)
		}
	}
	join(from, to, moved)
	if server && u.Ended != nil {
		u.Ended()
	}
}

// reach connects to the primary for a local connection, or returns nil if that was cut. A server waits for it, a tool
// gets one attempt. For a server, the agent of a primary is dialed once as soon as that is aimed at: clients wait until
// it streams.
func (u *Upstream) reach(local net.Conn, server bool) net.Conn {
	var ahead net.Conn
	of := -1 // the number of cuts when it was dialed
	drop := func() {
		if ahead != nil {
			_ = ahead.Close()
		}
		ahead = nil
	}
	for {
		u.mu.Lock()
		to, asks, change, cuts := u.to, request{Generation: u.generation}, u.change, u.cuts
		ready := to != "" && (!server || u.linked)
		if server {
			asks.Copy = u.copied
		}
		open := u.conns[local]
		u.mu.Unlock()
		if of != cuts {
			drop()
		}
		if !open || !ready && !server {
			drop()
			return nil
		}
		var again <-chan time.Time
		switch {
		case ready:
			remote := u.connect(local, to, asks, cuts, ahead)
			if remote != nil || !server {
				return remote
			}
			if ahead != nil { // it may have waited for too long
				ahead = nil
				continue
			}
			again = time.After(dialPause)
		case to != "" && to != Source && of != cuts:
			of = cuts
			if c, err := u.dial(to); err == nil {
				ahead = c
			}
			continue // it may have taken a while
		}
		select {
		case <-change:
		case <-again:
		}
	}
}

// connect makes one attempt, with a connection that was dialed ahead if there is one. It returns nil as well if all was
// cut meanwhile.
func (u *Upstream) connect(local net.Conn, to protocol.MemberID, asks request, cuts int, ahead net.Conn) net.Conn {
	remote, err := u.open(to, asks, ahead)
	if err != nil {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.conns[local] || u.cuts != cuts {
		_ = remote.Close()
		return nil
	}
	u.conns[remote] = true
	delete(u.waiting, local)
	return remote
}

// open connects to a primary, or to the server outside of the group, which has no agent before it.
func (u *Upstream) open(to protocol.MemberID, asks request, ahead net.Conn) (remote net.Conn, err error) {
	if to == Source {
		return u.External()
	}
	if remote = ahead; remote == nil {
		if remote, err = u.dial(to); err != nil {
			return nil, err
		}
	}
	if err := ask(remote, asks); err != nil {
		_ = remote.Close()
		return nil, err
	}
	return remote, nil
}

func (u *Upstream) forget(c net.Conn) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.end(c)
}
