//go:build linux

package proxy

import (
	"errors"
	"fmt"
	"net"
	"sync"

	"golang.org/x/sys/unix"
)

// relay passes bytes between pairs of connections, all in one loop: a goroutine for each of them would cost half as
// much again as the messages of a short transaction.
type relay struct {
	epoll, wakeup int
	ends          map[int32]*end
	buffer        []byte
	load          load

	mu      sync.Mutex
	calls   []func()
	stopped bool
	done    chan struct{}
}

// end is one side of a pair.
type end struct {
	fd   int
	peer *end
	// pair is what both sides share.
	pair *pair
	// answers says that the bytes of this side are answers, which need a permission each.
	answers bool
	// waiting are bytes that this side did not take yet. Nothing is read from its peer until they are gone.
	waiting []byte
	// ended says that this side sends nothing more.
	ended bool
	// interest is what the loop waits for.
	interest uint32
	// parked says that the loop does not watch this side: both directions of it are at their end, which the loop would be
	// told of again and again, and what it sent last is not read yet, as its peer has no room.
	parked bool
}

// pair is a client and the server that it speaks with.
type pair struct {
	client, server *end
	// permit says whether an answer may be passed on.
	permit func() bool
}

const (
	relayBuffer = 64 << 10
	relayEvents = 128
)

func newRelay(busy func(bool)) (*relay, error) {
	epoll, err1 := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	wakeup, err2 := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err := errors.Join(err1, err2); err != nil {
		return nil, fmt.Errorf("wait for connections of clients: %w", err)
	}
	r := &relay{
		epoll: epoll, wakeup: wakeup, ends: map[int32]*end{}, buffer: make([]byte, relayBuffer), done: make(chan struct{}),
		load: newLoad(busy),
	}
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(wakeup)} //nolint:gosec // a descriptor is small
	if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, wakeup, &event); err != nil {
		return nil, fmt.Errorf("wait for connections of clients: %w", err)
	}
	go r.run()
	return r, nil
}

// add takes over both connections, and passes bytes until one side is gone, or an answer has no permission.
func (r *relay) add(client, server *net.TCPConn, permit func() bool) error {
	a, err1 := takeOver(client)
	b, err2 := takeOver(server)
	if err := errors.Join(err1, err2); err != nil {
		for _, fd := range []int{a, b} {
			if fd >= 0 {
				_ = unix.Close(fd)
			}
		}
		return err
	}
	p := &pair{permit: permit}
	p.client, p.server = &end{fd: a, pair: p}, &end{fd: b, pair: p, answers: true}
	p.client.peer, p.server.peer = p.server, p.client
	if !r.call(func() {
		for _, e := range []*end{p.client, p.server} {
			e.interest = unix.EPOLLIN
			event := unix.EpollEvent{Events: e.interest, Fd: int32(e.fd)} //nolint:gosec // a descriptor is small
			if unix.EpollCtl(r.epoll, unix.EPOLL_CTL_ADD, e.fd, &event) != nil {
				r.drop(p)
				return
			}
			r.ends[int32(e.fd)] = e //nolint:gosec // a descriptor is small
		}
	}) {
		r.drop(p)
		return net.ErrClosed
	}
	return nil
}

// takeOver returns a descriptor of a connection, which Go forgets.
func takeOver(c *net.TCPConn) (int, error) {
	fd := -1
	raw, err := c.SyscallConn()
	if err == nil {
		var failed error
		err = raw.Control(func(own uintptr) { fd, failed = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 0) })
		err = errors.Join(err, failed)
	}
	if err = errors.Join(err, c.Close()); err != nil {
		return fd, fmt.Errorf("take a connection of a client: %w", err)
	}
	return fd, nil
}

// prune drops the pairs that have no permission any more.
func (r *relay) prune() {
	r.call(func() {
		for _, e := range r.ends {
			if e.answers && !e.pair.permit() {
				r.drop(e.pair)
			}
		}
	})
}

// close drops all pairs, and ends the loop.
func (r *relay) close() {
	r.call(func() {
		for _, e := range r.ends {
			r.drop(e.pair)
		}
		r.stopped = true
	})
	<-r.done
}

// call has the loop do something, under the lock: it owns all pairs. It says whether the loop is there.
func (r *relay) call(do func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return false
	}
	r.calls = append(r.calls, do)
	one := [8]byte{1}
	_, _ = unix.Write(r.wakeup, one[:]) // it is full only if the loop has a call to read
	return true
}

// answer does what was called, and says whether the loop goes on.
func (r *relay) answer() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, do := range r.calls {
		do()
	}
	r.calls = nil
	return !r.stopped
}

func (r *relay) run() {
	defer close(r.done)
	defer unix.Close(r.epoll)  //nolint:errcheck // nothing waits any more
	defer unix.Close(r.wakeup) //nolint:errcheck // the same
	events := make([]unix.EpollEvent, relayEvents)
	for {
		n, err := await(r.epoll, events, r.load.hidden(), r.load.wait())
		if err != nil && !errors.Is(err, unix.EINTR) {
			panic(fmt.Sprintf("wait for connections of clients: %v", err)) // only a mistake in this file leads here
		}
		called, speak := false, false
		for _, event := range events[:max(n, 0)] {
			if event.Fd == int32(r.wakeup) { //nolint:gosec // a descriptor is small
				_, _ = unix.Read(r.wakeup, r.buffer[:8])
				called = true
				continue
			}
			speak = true
			// A pair that was dropped in this round is not there any more.
			if e := r.ends[event.Fd]; e != nil {
				r.serve(e, event.Events)
			}
		}
		if called && !r.answer() {
			return
		}
		r.load.note(speak)
	}
}

// serve does what the events of one side ask for.
func (r *relay) serve(e *end, events uint32) {
	if events&unix.EPOLLOUT != 0 && !r.flush(e) {
		return
	}
	switch broken := events&(unix.EPOLLERR|unix.EPOLLHUP) != 0; {
	case e.interest&unix.EPOLLIN != 0 && events&(unix.EPOLLIN|unix.EPOLLERR|unix.EPOLLHUP) != 0:
		r.pass(e)
	case events&unix.EPOLLERR == 0 && broken && !e.ended && len(e.peer.waiting) > 0:
		r.park(e)
	case broken:
		r.drop(e.pair)
	}
}

// park has the loop not watch a side until something is to be read from it again.
func (r *relay) park(e *end) {
	e.parked = unix.EpollCtl(r.epoll, unix.EPOLL_CTL_DEL, e.fd, nil) == nil
}

// pass hands what one side sent to the other.
func (r *relay) pass(e *end) {
	n, err := read(e.fd, r.buffer)
	switch {
	case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR):
	case err != nil:
		r.drop(e.pair)
	case n == 0:
		e.ended = true
		if e.peer.ended || unix.Shutdown(e.peer.fd, unix.SHUT_WR) != nil {
			r.drop(e.pair)
			return
		}
		r.want(e, e.interest&^unix.EPOLLIN)
	default:
		e.peer.waiting = r.buffer[:n]
		if r.flush(e.peer) && len(e.peer.waiting) > 0 {
			e.peer.waiting = append([]byte(nil), e.peer.waiting...)
		}
	}
}

// flush hands a side what waits for it, and says whether its pair is still there.
func (r *relay) flush(e *end) bool {
	if e.peer.answers && !e.pair.permit() {
		r.drop(e.pair)
		return false
	}
	for len(e.waiting) > 0 {
		n, err := write(e.fd, e.waiting)
		if errors.Is(err, unix.EAGAIN) {
			break
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			r.drop(e.pair)
			return false
		}
		e.waiting = e.waiting[max(n, 0):]
	}
	if len(e.waiting) > 0 {
		r.want(e, e.interest|unix.EPOLLOUT)
		r.want(e.peer, e.peer.interest&^unix.EPOLLIN)
		return true
	}
	e.waiting = nil
	r.want(e, e.interest&^unix.EPOLLOUT)
	if !e.peer.ended {
		r.want(e.peer, e.peer.interest|unix.EPOLLIN)
	}
	return true
}

func (r *relay) want(e *end, interest uint32) {
	if e.interest == interest {
		return
	}
	e.interest = interest
	event := unix.EpollEvent{Events: interest, Fd: int32(e.fd)} //nolint:gosec // a descriptor is small
	if e.parked {
		e.parked = unix.EpollCtl(r.epoll, unix.EPOLL_CTL_ADD, e.fd, &event) != nil
		return
	}
	_ = unix.EpollCtl(r.epoll, unix.EPOLL_CTL_MOD, e.fd, &event) // it is there
}

func (r *relay) drop(p *pair) {
	for _, e := range []*end{p.client, p.server} {
		delete(r.ends, int32(e.fd)) //nolint:gosec // a descriptor is small
		_ = unix.Close(e.fd)        // it leaves the loop by that
	}
}
