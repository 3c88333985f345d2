//go:build linux

package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// world is a proxy at m1, and servers that say their name to each client.
type world struct {
	t      *testing.T
	proxy  *Proxy
	leader atomic.Bool
	now    atomic.Int64

	mu      sync.Mutex
	servers map[protocol.MemberID]net.Listener
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, servers: map[protocol.MemberID]net.Listener{}}
	w.leader.Store(true)
	for _, id := range []protocol.MemberID{"m1", "m2", "m3"} {
		w.serve(id)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = free.Close(), other.Close()
	w.proxy, err = Open(Config{
		Member: "m1", Listen: free.Addr().String(), ReadOnly: other.Addr().String(),
		Address: func(id protocol.MemberID) string {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.servers[id].Addr().String()
		},
		Leader: func() protocol.MemberID {
			if w.leader.Load() {
				return "m3"
			}
			return ""
		},
		Now:    func() protocol.Instant { return protocol.Instant(w.now.Load()) },
		Report: func(what string) { t.Log(what) },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.proxy.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return w
}

// serve starts a server that says its name, and then again what it is told.
func (w *world) serve(id protocol.MemberID) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = l.Close() })
	w.servers[id] = l
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.WriteString(c, string(id))
				_, _ = io.Copy(c, c)
			}()
		}
	}()
}

func (w *world) route(primary protocol.MemberID, g protocol.Generation, replicas ...protocol.MemberID) protocol.Route {
	return protocol.Route{
		Primary: primary, Generation: g, Until: protocol.Instant(7 * time.Second), Replicas: replicas,
		Lease: 7 * time.Second,
	}
}

// ask connects to a port until it is open, and returns the connection with the name that the server said.
func (w *world) ask(port int) (net.Conn, string, error) {
	w.t.Helper()
	var c net.Conn
	var err error
	for began := time.Now(); time.Since(began) < 10*time.Second; time.Sleep(10 * time.Millisecond) {
		if c, err = net.Dial("tcp", w.proxy.ports[port].address); err == nil {
			break
		}
	}
	if err != nil {
		return nil, "", err
	}
	w.t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	name := make([]byte, 2)
	_, err = io.ReadFull(c, name)
	return c, string(name), err
}

// alive says whether a connection still passes bytes.
func alive(c net.Conn) bool {
	if _, err := c.Write([]byte("x")); err != nil {
		return false
	}
	_, err := c.Read(make([]byte, 1))
	return err == nil
}

func TestProxyFollowsThePrimary(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.proxy.Set(w.route("m2", 1, "m1", "m3"))
	c, name, err := w.ask(0)
	if name != "m2" || err != nil || !alive(c) {
		t.Fatalf("the primary is %q: %v", name, err)
	}
	held := w.route("m2", 1, "m1", "m3")
	held.Hold = true
	w.proxy.Set(held)
	if !alive(c) {
		t.Error("a session ends when a switchover is planned")
	}
	got := make(chan string)
	go func() {
		_, name, _ := w.ask(0)
		got <- name
	}()
	select {
	case name := <-got:
		t.Errorf("a new connection is not held: %q", name)
	case <-time.After(300 * time.Millisecond):
	}
	w.proxy.Set(protocol.Route{Lease: 7 * time.Second})
	if alive(c) {
		t.Error("a session goes on at a primary that is none any more")
	}
	w.proxy.Set(w.route("m3", 2, "m1"))
	if name := <-got; name != "m3" {
		t.Errorf("a connection that was held comes to %q", name)
	}
}

// TestProxyLease passes nothing after the lease, although nobody says that it is over.
func TestProxyLease(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.proxy.Set(w.route("m1", 1))
	c, _, err := w.ask(0)
	if err != nil || !alive(c) {
		t.Fatal(err)
	}
	w.now.Store(int64(7 * time.Second))
	if alive(c) {
		t.Error("an answer passes after the lease")
	}
}

func TestProxyReadOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.proxy.Set(w.route("m2", 1, "m1", "m3"))
	if _, name, err := w.ask(1); name != "m1" || err != nil {
		t.Errorf("%q serves, not the replica beside the proxy: %v", name, err)
	}
	w.proxy.Set(w.route("m1", 2, "m2", "m3"))
	names := map[string]net.Conn{}
	for range 4 {
		c, name, err := w.ask(1)
		if err != nil {
			t.Fatal(err)
		}
		names[name] = c
	}
	if len(names) != 2 || names["m1"] != nil {
		t.Errorf("these serve: %v", names)
	}
	w.proxy.Set(w.route("m2", 3, "m1"))
	if alive(names["m2"]) {
		t.Error("who reads goes on at a member that became the primary")
	}
	if !alive(names["m3"]) {
		t.Error("who reads at a replica ends with its primary")
	}
	w.proxy.Set(w.route("m2", 3))
	c, name, err := w.ask(1)
	if name != "m2" || err != nil {
		t.Errorf("without a replica %q serves: %v", name, err)
	}
	w.proxy.Set(w.route("m3", 4))
	if alive(c) {
		t.Error("who reads goes on at a primary that is none any more")
	}
}

// closes holds that both ports close, and that the sessions there end, although their servers say nothing.
func (w *world) closes(sessions ...net.Conn) {
	w.t.Helper()
	for port, c := range sessions {
		for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
			if d, err := net.Dial("tcp", w.proxy.ports[port].address); err != nil {
				break
			} else if _ = d.Close(); time.Since(began) > 10*time.Second {
				w.t.Fatalf("port %d is open", port)
			}
		}
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			w.t.Errorf("a session goes on at port %d: %v", port, err)
		}
	}
}

// TestProxyLetsGo ends all sessions of a primary before its guard would end the agent: a disk that hangs would keep
// them. Once the lease is renewed all goes on.
func TestProxyLetsGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.proxy.Set(w.route("m1", 1, "m2"))
	c, _, err1 := w.ask(0)
	r, _, err2 := w.ask(1)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	w.now.Store(int64(6 * time.Second))
	time.Sleep(2 * leaderInterval)
	if !alive(c) || !alive(r) {
		t.Error("a session ends long before the lease")
	}
	w.now.Store(int64(7*time.Second - 200*time.Millisecond))
	w.closes(c, r)
	renewed := w.route("m1", 1, "m2")
	renewed.Until = protocol.Instant(12 * time.Second)
	w.proxy.Set(renewed)
	if _, name, err := w.ask(0); name != "m1" || err != nil {
		t.Errorf("%q serves once the lease is renewed: %v", name, err)
	}
}

// TestProxyElsewhere keeps the sessions with another primary up to the end of its lease: the guard there is its own.
func TestProxyElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.proxy.Set(w.route("m2", 1))
	c, _, err := w.ask(0)
	if err != nil {
		t.Fatal(err)
	}
	w.now.Store(int64(7*time.Second - 1))
	time.Sleep(2 * leaderInterval)
	if !alive(c) {
		t.Error("a session with another member ends before the lease")
	}
}

// TestProxyApart closes the ports of a member that lost the group for a lease, and opens them again.
func TestProxyApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	endless := w.route("m2", 1, "m1")
	endless.Until = protocol.Instant(time.Hour)
	w.proxy.Set(endless)
	c, _, err1 := w.ask(0)
	r, _, err2 := w.ask(1)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	w.leader.Store(false)
	w.now.Add(int64(8 * time.Second))
	w.closes(c, r)
	w.leader.Store(true)
	if _, name, err := w.ask(0); name != "m2" || err != nil {
		t.Errorf("%q serves once the group is back: %v", name, err)
	}
}

// TestProxyDeadServer holds a connection until the server takes it.
func TestProxyDeadServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_ = w.servers["m2"].Close()
	w.proxy.Set(w.route("m2", 1))
	time.AfterFunc(300*time.Millisecond, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.serve("m2")
	})
	if _, name, err := w.ask(0); name != "m2" || err != nil {
		t.Errorf("%q serves: %v", name, err)
	}
}

// TestProxyHold ends a connection that waited too long.
func TestProxyHold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.proxy.hold = 300 * time.Millisecond
	w.proxy.Set(protocol.Route{Lease: 7 * time.Second})
	if _, name, err := w.ask(0); !errors.Is(err, io.EOF) {
		t.Errorf("a connection without a primary comes to %q: %v", name, err)
	}
}
