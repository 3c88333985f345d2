package portforward

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// fakeStream is one end of a pair of pipes; a reset ends both.
type fakeStream struct {
	io.Reader
	io.Writer
	once  sync.Once
	reset func()
}

func (f *fakeStream) Close() error         { return nil }
func (f *fakeStream) Reset() error         { f.once.Do(f.reset); return nil }
func (f *fakeStream) Headers() http.Header { return nil }
func (f *fakeStream) Identifier() uint32   { return 1 }

// node is the far side of a stream.
type node struct {
	in     *io.PipeReader
	out    *io.PipeWriter
	errors *io.PipeWriter
}

func newTestStream() (net.Conn, *node) {
	in, toNode := io.Pipe()
	fromNode, out := io.Pipe()
	failures, report := io.Pipe()
	data := &fakeStream{Reader: fromNode, Writer: toNode, reset: func() {
		_ = toNode.CloseWithError(errors.New("stream reset"))
		_ = out.Close()
	}}
	return newStream(data, &fakeStream{Reader: failures, reset: func() {}}, 2379, func() { _ = report.Close() }),
		&node{in: in, out: out, errors: report}
}

func TestStreamCarriesBothWays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, n := newTestStream()
		sent := make([]byte, 3*chunk+17)
		go func() {
			_, _ = io.CopyN(n.out, n.in, int64(len(sent)))
			_ = n.errors.Close()
			_ = n.out.Close()
		}()
		go func() { _, _ = c.Write(sent) }()
		got, err := io.ReadAll(c)
		if err != nil || len(got) != len(sent) {
			t.Errorf("read %d bytes of %d: %v", len(got), len(sent), err)
		}
		_ = c.Close()
	})
}

func TestStreamSaysWhyItEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, n := newTestStream()
		go func() {
			_, _ = n.errors.Write([]byte("dial tcp 127.0.0.1:2379: connect: connection refused\n"))
			_ = n.errors.Close()
		}()
		_, err := c.Read(make([]byte, 1))
		var refused *RefusedError
		if !errors.As(err, &refused) || refused.Message != "dial tcp 127.0.0.1:2379: connect: connection refused" {
			t.Errorf("read: %v, want the node's words", err)
		}
		_ = c.Close()
	})
}

func TestStreamDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := newTestStream()
		began := time.Now()
		if err := c.SetDeadline(began.Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("read: %v, want the deadline", err)
		}
		if err := c.SetDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte("nobody reads this")); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("write: %v, want the deadline", err)
		}
		if _, err := c.Write([]byte("late")); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("write after the deadline: %v", err)
		}
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("took %v, want 2 s", took)
		}
		_ = c.Close()
	})
}

func TestStreamCloseEndsBlockedCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := newTestStream()
		done := make(chan error, 2)
		go func() { _, err := c.Read(make([]byte, 1)); done <- err }()
		go func() { _, err := c.Write([]byte("x")); done <- err }()
		synctest.Wait()
		_ = c.Close()
		_ = c.Close()
		for range 2 {
			if err := <-done; err == nil {
				t.Error("a call succeeded on a closed stream")
			}
		}
	})
}
