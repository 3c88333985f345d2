//go:build linux

package proxy

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// socket returns both ends of a TCP connection.
func socket(t *testing.T) (near, far *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, err1 := net.Dial("tcp", l.Addr().String())
	b, err2 := l.Accept()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = a.Close(), b.Close() })
	bound := time.Now().Add(30 * time.Second)
	_, _ = a.SetDeadline(bound), b.SetDeadline(bound)
	return a.(*net.TCPConn), b.(*net.TCPConn)
}

func open(t *testing.T) *relay {
	t.Helper()
	r, err := newRelay(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.close)
	return r
}

// joined returns a client and a server with a relay between them.
func joined(t *testing.T, r *relay, permit func() bool) (client, server *net.TCPConn) {
	t.Helper()
	client, near := socket(t)
	server, far := socket(t)
	if err := r.add(near, far, permit); err != nil {
		t.Fatal(err)
	}
	return client, server
}

func always() bool { return true }

// TestRelay passes much in both directions at once, to sides that read late, and then the end of each side.
func TestRelay(t *testing.T) {
	t.Parallel()
	r := open(t)
	content := make([]byte, 20<<20)
	_, _ = rand.Read(content)
	var all sync.WaitGroup
	for range 5 {
		client, server := joined(t, r, always)
		for _, side := range []struct{ from, to *net.TCPConn }{{client, server}, {server, client}} {
			all.Go(func() {
				if _, err := side.from.Write(content); err != nil {
					t.Error(err)
				}
				_ = side.from.CloseWrite()
			})
			all.Go(func() {
				time.Sleep(100 * time.Millisecond) // so that the relay has to wait
				got, err := io.ReadAll(side.to)
				if err != nil || !bytes.Equal(got, content) {
					t.Errorf("%d of %d bytes came, the same %t: %v", len(got), len(content), bytes.Equal(got, content), err)
				}
			})
		}
	}
	all.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
}

// TestRelayHeld has a server send its last bytes, and end, to a client that sends nothing more and reads late. The
// system tells of the end of both directions while bytes are still to be read.
func TestRelayHeld(t *testing.T) {
	t.Parallel()
	r := open(t)
	client, near := socket(t)
	server, far := socket(t)
	const small, content = 4 << 10, 150 << 10
	if err := errors.Join(client.SetReadBuffer(small), near.SetWriteBuffer(small), client.CloseWrite(),
		r.add(near, far, always)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(server); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Write(make([]byte, content)); err != nil {
		t.Fatal(err)
	}
	_ = server.CloseWrite()
	for held := false; !held; time.Sleep(time.Millisecond) {
		seen := make(chan bool)
		r.call(func() {
			some := len(r.ends) == 0
			for _, e := range r.ends {
				some = some || e.parked
			}
			go func() { seen <- some }()
		})
		held = <-seen
	}
	if got, err := io.ReadAll(client); err != nil || len(got) != content {
		t.Errorf("%d of %d bytes came: %v", len(got), content, err)
	}
}

// TestRelayEnds holds that both sides end when one is gone, and that nothing is kept.
func TestRelayEnds(t *testing.T) {
	t.Parallel()
	r := open(t)
	client, server := joined(t, r, always)
	_, _ = server.Write([]byte("bye"))
	_ = server.Close()
	if got, err := io.ReadAll(client); string(got) != "bye" || err != nil {
		t.Errorf("the client reads %q: %v", got, err)
	}
	_ = client.Close()
	client, server = joined(t, r, always)
	_, _ = client.Write([]byte("bye"))
	_ = client.Close()
	if got, err := io.ReadAll(server); string(got) != "bye" || err != nil {
		t.Errorf("the server reads %q: %v", got, err)
	}
	_ = server.Close()
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		left := make(chan int)
		r.call(func() { go func(n int) { left <- n }(len(r.ends)) })
		if n := <-left; n == 0 {
			return
		} else if time.Since(began) > 10*time.Second {
			t.Fatalf("%d ends are kept", n)
		}
	}
}

// TestRelayPermit passes no answer without permission: neither a new one, nor what waits for a slow client.
func TestRelayPermit(t *testing.T) {
	t.Parallel()
	r := open(t)
	var permitted atomic.Bool
	permitted.Store(true)
	client, server := joined(t, r, permitted.Load)
	slow, fast := joined(t, r, permitted.Load)
	go func() { _, _ = fast.Write(make([]byte, 100<<20)) }()
	one := make([]byte, 1)
	if _, err := slow.Read(one); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond) // all buffers are full
	permitted.Store(false)
	_, _ = server.Write([]byte("late"))
	if got, _ := io.ReadAll(client); len(got) > 0 {
		t.Errorf("the client got %q without permission", got)
	}
	if got, _ := io.ReadAll(slow); len(got) > 50<<20 {
		t.Errorf("the slow client got %d bytes without permission", len(got))
	}
}

// TestRelayPrune ends connections on which nothing passes.
func TestRelayPrune(t *testing.T) {
	t.Parallel()
	r := open(t)
	client, _ := joined(t, r, func() bool { return false })
	other, far := joined(t, r, always)
	r.prune()
	if _, err := client.Read(make([]byte, 1)); err == nil || errors.Is(err, io.ErrNoProgress) {
		t.Errorf("the connection is open: %v", err)
	}
	_, _ = far.Write([]byte("x"))
	if _, err := other.Read(make([]byte, 1)); err != nil {
		t.Errorf("a connection with permission ended: %v", err)
	}
}
