//go:build linux

package stream

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// site has a server that echoes, behind the agent of member m1, which serves generation 3.
type site struct {
	dir  string
	up   *Upstream
	down *Downstream
}

func newSite(t *testing.T) *site {
	t.Helper()
	dir, err := os.MkdirTemp("", "stream") //nolint:usetesting // that one's name is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &site{dir: dir}
	server, err := net.Listen("unix", filepath.Join(dir, "server"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	go func() {
		for {
			c, err := server.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); _ = c.Close() }()
		}
	}()
	s.down = &Downstream{Socket: server.Addr().String(),
		Serves: func(g protocol.Generation, from protocol.MemberID) bool {
			return g == 3 && from == "m2"
		}}
	agent, err := net.Listen("unix", filepath.Join(dir, "agent"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = agent.Close() })
	go func() {
		for {
			c, err := agent.Accept()
			if err != nil {
				return
			}
			go func() { s.down.Handle("m2", c); _ = c.Close() }()
		}
	}()
	dial := func(id protocol.MemberID) (net.Conn, error) {
		if id != "m1" {
			return nil, errors.New("no such member")
		}
		return net.Dial("unix", agent.Addr().String())
	}
	s.up, err = Listen(filepath.Join(dir, "up"), filepath.Join(dir, "tools"), dial)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.up.Close() })
	return s
}

// echo says whether a line comes back through a socket. The connection stays open.
func (s *site) echo(t *testing.T, socket string) (net.Conn, bool) {
	t.Helper()
	c, err := net.Dial("unix", filepath.Join(s.dir, socket))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	_, _ = io.WriteString(c, "hello\n")
	got, err := bufio.NewReader(c).ReadString('\n')
	return c, err == nil && got == "hello\n"
}

func TestStream(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	if _, ok := s.echo(t, "tools"); ok {
		t.Error("it passes before anything is aimed at")
	}
	early, err := net.Dial("unix", filepath.Join(s.dir, "up"))
	if err != nil {
		t.Fatal(err)
	}
	for !s.up.Waiting() {
		time.Sleep(time.Millisecond)
	}
	s.up.Aim("m1", 3)
	if _, ok := s.echo(t, "tools"); !ok {
		t.Error("a tool does not reach the primary that is aimed at")
	}
	_, _ = io.WriteString(early, "early\n")
	_ = early.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	if _, err := early.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || !s.up.Waiting() {
		t.Errorf("the server is not kept waiting until it is linked: %v", err)
	}
	s.up.Link("m2.copy")
	_ = early.SetReadDeadline(time.Now().Add(5 * time.Second))
	if got, err := bufio.NewReader(early).ReadString('\n'); got != "early\n" {
		t.Errorf("a server that waited gets %q: %v", got, err)
	}
	c, ok := s.echo(t, "up")
	if to, g := s.up.Linked(); !ok || to != "m1" || g != 3 {
		t.Errorf("linked to %q in generation %d; it passes: %t", to, g, ok)
	}
	s.down.Drop(func(copied string) bool { return copied == "m2.copy" })
	if _, err := io.WriteString(c, "again\n"); err != nil {
		t.Errorf("a stream that is kept is dropped: %v", err)
	}
	s.down.Drop(func(string) bool { return false })
	if _, err := io.Copy(io.Discard, c); err != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("a stream that is not kept goes on")
	}
}

func TestGeneration(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, g := range []protocol.Generation{2, 4} {
		s.up.Aim("m1", g)
		s.up.Link("m2.copy")
		if _, ok := s.echo(t, "tools"); ok {
			t.Errorf("a primary of generation 3 serves generation %d", g)
		}
	}
}

// TestCut cuts while bytes flow: nothing passes after Cut has returned.
func TestCut(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.up.Aim("m1", 3)
	s.up.Link("m2.copy")
	c, ok := s.echo(t, "up")
	if !ok {
		t.Fatal("it does not pass")
	}
	var writing sync.WaitGroup
	writing.Go(func() {
		for {
			if _, err := c.Write(make([]byte, 4096)); err != nil {
				return
			}
		}
	})
	s.up.Cut()
	if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the stream goes on after it was cut")
	}
	writing.Wait()
	if _, ok := s.echo(t, "tools"); ok {
		t.Error("a tool passes after it was cut")
	}
}

// TestWaits has a server wait while its upstream is cut again and again: it is linked at the end, and one that ended
// meanwhile waits no more.
func TestWaits(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var waits []net.Conn
	for range 2 {
		c, err := net.Dial("unix", filepath.Join(s.dir, "up"))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(c, "waits\n")
		waits = append(waits, c)
	}
	count := func() int {
		s.up.mu.Lock()
		defer s.up.mu.Unlock()
		return len(s.up.waiting)
	}
	for count() < 2 {
		time.Sleep(time.Millisecond)
	}
	s.up.Cut()
	s.up.Aim("m1", 3)
	_ = waits[0].Close()
	if !s.up.Waiting() || count() != 1 {
		t.Fatalf("%d wait after one of two ended", count())
	}
	s.up.Link("m2.copy")
	_ = waits[1].SetReadDeadline(time.Now().Add(5 * time.Second))
	if got, err := bufio.NewReader(waits[1]).ReadString('\n'); got != "waits\n" {
		t.Errorf("a server that waited over a cut gets %q: %v", got, err)
	}
	if s.up.Waiting() {
		t.Error("a server that is served waits")
	}
	s.up.Cut()
	if _, err := io.Copy(io.Discard, waits[1]); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("a stream goes on after it was cut")
	}
}

// TestGreeted: one that was greeted may have said where it goes on, so it does not wait over a cut.
func TestGreeted(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.up.Greet = func(c net.Conn) (net.Conn, error) { return c, nil }
	c, err := net.Dial("unix", filepath.Join(s.dir, "up"))
	if err != nil {
		t.Fatal(err)
	}
	for !s.up.Waiting() {
		time.Sleep(time.Millisecond)
	}
	s.up.Cut()
	_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, err := c.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) || s.up.Waiting() {
		t.Errorf("a server that was greeted waits over a cut: %v", err)
	}
}

// TestCutInTheMiddle cuts while a primary is asked: what it answers then is not passed, and the server waits on.
func TestCutInTheMiddle(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	asked, goOn := make(chan struct{}), make(chan struct{})
	dial := s.up.dial
	s.up.dial = func(id protocol.MemberID) (net.Conn, error) {
		asked <- struct{}{}
		<-goOn
		return dial(id)
	}
	c, err := net.Dial("unix", filepath.Join(s.dir, "up"))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(c, "waits\n")
	for !s.up.Waiting() {
		time.Sleep(time.Millisecond)
	}
	s.up.Aim("m1", 3)
	s.up.Link("m2.copy")
	<-asked
	s.up.Cut()
	close(goOn)
	_ = c.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || !s.up.Waiting() {
		t.Errorf("what was asked before the cut is passed after it, or the server does not wait on: %v", err)
	}
}

// TestFacts: who asks before the primary serves gets its facts as soon as it does. Facts that were gathered while it
// stopped to serve are not told, and nobody is kept waiting whose context ends.
func TestFacts(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var asked, gathered atomic.Int32
	var serves atomic.Bool
	s.down.Serves = func(protocol.Generation, protocol.MemberID) bool { return asked.Add(1) > 0 && serves.Load() }
	s.down.Facts = func() any { gathered.Add(1); return "facts" }
	s.up.Aim("m1", 3)
	go func() {
		for asked.Load() < 3 {
			time.Sleep(time.Millisecond)
		}
		serves.Store(true)
	}()
	var got string
	if err := s.up.Facts(t.Context(), &got); err != nil || got != "facts" || gathered.Load() != 1 {
		t.Errorf("who asks early gets %q: %v", got, err)
	}
	s.down.Facts = func() any { serves.Store(false); return "old facts" }
	if err := s.up.Facts(t.Context(), &got); err == nil || got != "facts" {
		t.Errorf("facts of before are told: %q", got)
	}
	dial := s.up.dial
	away := func(protocol.MemberID) (net.Conn, error) { time.Sleep(serveTime); return nil, errors.New("it is away") }
	for name, dial := range map[string]Dial{"it does not serve": dial, "it is away": away} {
		s.up.dial = dial
		ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
		began := time.Now()
		if err := s.up.Facts(ctx, &got); err == nil || time.Since(began) > serveTime/2 {
			t.Errorf("%s: who does not want to wait any more waits for %s: %v", name, time.Since(began), err)
		}
		stop()
	}
}

// TestAhead: the agent of a primary is dialed before the server is linked, and not again for the stream. A connection
// that waited for too long, and one to the primary of before, are not used.
func TestAhead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fails     bool
		meanwhile func(*site, net.Conn)
		dials     int32
	}{
		"at once":               {meanwhile: func(*site, net.Conn) {}, dials: 1},
		"the agent gave it up":  {meanwhile: func(_ *site, ahead net.Conn) { _ = ahead.Close() }, dials: 2},
		"another aim meanwhile": {meanwhile: func(s *site, _ net.Conn) { s.up.Aim("m1", 3) }, dials: 2},
		"it is away": {fails: true, dials: 2,
			meanwhile: func(*site, net.Conn) { time.Sleep(3 * dialPause) }}, // it is not dialed again and again
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			var dials atomic.Int32
			var away atomic.Bool
			away.Store(c.fails)
			ahead := make(chan net.Conn, 1000)
			dial := s.up.dial
			s.up.dial = func(id protocol.MemberID) (net.Conn, error) {
				dials.Add(1)
				if away.Load() {
					ahead <- nil
					return nil, errors.New("it is away")
				}
				remote, err := dial(id)
				ahead <- remote
				return remote, err
			}
			server, err := net.Dial("unix", filepath.Join(s.dir, "up"))
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.WriteString(server, "early\n")
			for !s.up.Waiting() {
				time.Sleep(time.Millisecond)
			}
			time.Sleep(10 * time.Millisecond) // it goes to sleep a moment later
			s.up.Aim("m1", 3)
			c.meanwhile(s, <-ahead)
			away.Store(false)
			s.up.Link("m2.copy")
			_ = server.SetReadDeadline(time.Now().Add(5 * time.Second))
			if got, err := bufio.NewReader(server).ReadString('\n'); got != "early\n" || dials.Load() != c.dials {
				t.Errorf("a server that waited gets %q after %d dials: %v", got, dials.Load(), err)
			}
		})
	}
}
