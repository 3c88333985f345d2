package storetest

import (
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy is a network that can be slow, and be cut: it passes connections on.
type Proxy struct {
	// Address is where it listens.
	Address string

	to string
	mu sync.Mutex
	// left is how many bytes pass before the cut, both ways together; a negative one means all.
	left int64
	// stays: new connections end at once until Mend.
	stays, down bool
	perSecond   int64
	open        map[net.Conn]bool
}

// StartProxy listens until the test ends.
func StartProxy(t testing.TB, to string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Address: l.Addr().String(), to: to, left: -1, open: map[net.Conn]bool{}}
	t.Cleanup(func() {
		_ = l.Close()
		p.cut()
	})
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(c)
		}
	}()
	return p
}

// CutAfter ends all connections once so many more bytes have passed. If it stays, no other one is accepted before Mend.
func (p *Proxy) CutAfter(bytes int64, stays bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left, p.stays = bytes, stays
}

// Slow bounds the bytes a second of each connection.
func (p *Proxy) Slow(perSecond int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.perSecond = perSecond
}

// Mend takes everything back, and reports whether there was a cut.
func (p *Proxy) Mend() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	cut := p.left == 0
	p.left, p.stays, p.down, p.perSecond = -1, false, false, 0
	return cut
}

func (p *Proxy) serve(client net.Conn) {
	server, err := net.Dial("tcp", p.to)
	p.mu.Lock()
	if err != nil || p.down {
		p.mu.Unlock()
		_ = client.Close()
		if server != nil {
			_ = server.Close()
		}
		return
	}
	p.open[client], p.open[server] = true, true
	p.mu.Unlock()
	go p.pass(client, server)
	p.pass(server, client)
}

// pass copies one way until either end is closed.
func (p *Proxy) pass(from, to net.Conn) {
	defer p.drop(from, to)
	buffer := make([]byte, 16<<10)
	for {
		n, err := from.Read(buffer)
		may, pause := p.allowed(int64(n))
		if may < int64(n) {
			_, _ = to.Write(buffer[:may])
			p.cut()
			return
		}
		time.Sleep(pause)
		if _, failed := to.Write(buffer[:n]); err != nil || failed != nil {
			return
		}
	}
}

// allowed says how many of n bytes may pass, and after which pause.
func (p *Proxy) allowed(n int64) (may int64, pause time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.perSecond > 0 {
		pause = time.Duration(n) * time.Second / time.Duration(p.perSecond)
	}
	if p.left < 0 || p.left == 0 && !p.down {
		return n, pause
	}
	if n < p.left {
		p.left -= n
		return n, pause
	}
	may, p.left, p.down = p.left, 0, p.stays
	return may, pause
}

func (p *Proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		_ = c.Close()
	}
}

func (p *Proxy) drop(connections ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range connections {
		_ = c.Close()
		delete(p.open, c)
	}
}
