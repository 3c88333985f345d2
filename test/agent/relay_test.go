package agent

import (
	"net"
	"sync"
	"time"
)

// link is the network between two members, in one direction. What is sent on a link that is cut is lost until it is
// mended, as on a network: nobody is told.
type link struct {
	mu   sync.Mutex
	open chan struct{} // closed while bytes pass
	cut  bool
}

func newLink() *link {
	l := &link{open: make(chan struct{})}
	close(l.open)
	return l
}

func (l *link) set(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut == cut {
		return
	}
	if l.cut = cut; cut {
		l.open = make(chan struct{})
	} else {
		close(l.open)
	}
}

// wait returns once bytes pass, or false when the relay ends.
func (l *link) wait(done <-chan struct{}) bool {
	l.mu.Lock()
	open := l.open
	l.mu.Unlock()
	select {
	case <-open:
		return true
	case <-done:
		return false
	}
}

// relay listens where one member believes another one to be.
type relay struct {
	listener    net.Listener
	to          string
	there, back *link
	done        chan struct{}
	once        sync.Once
}

func newRelay(to string, there, back *link) (*relay, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &relay{listener: l, to: to, there: there, back: back, done: make(chan struct{})}
	go r.serve()
	return r, nil
}

func (r *relay) close() {
	r.once.Do(func() {
		close(r.done)
		_ = r.listener.Close()
	})
}

func (r *relay) serve() {
	for {
		c, err := r.listener.Accept()
		if err != nil {
			return
		}
		go r.pass(c)
	}
}

// pass connects once both directions work: a handshake needs both.
func (r *relay) pass(from net.Conn) {
	defer from.Close()
	if !r.there.wait(r.done) || !r.back.wait(r.done) {
		return
	}
	to, err := net.DialTimeout("tcp", r.to, 5*time.Second)
	if err != nil {
		return
	}
	defer to.Close()
	var both sync.WaitGroup
	both.Go(func() { r.copy(to, from, r.there) })
	both.Go(func() { r.copy(from, to, r.back) })
	both.Wait()
}

// copy passes bytes while the link works. A connection ends when either end closes it; across a link that is cut that
// shows only later.
func (r *relay) copy(to, from net.Conn, l *link) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if !l.wait(r.done) {
			break
		}
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				break
			}
		}
		if err != nil {
			break
		}
	}
	_, _ = to.Close(), from.Close()
}
