package portforward

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"k8s.io/streaming/pkg/httpstream"
)

const (
	// chunk is how much is moved at a time; frames are not larger.
	chunk = 64 << 10
	// afterword is how long the error stream may take to say why data ended.
	afterword = time.Second
	// maxError bounds what is read of an error.
	maxError = 4 << 10
)

// RefusedError is what the node says about a stream that it could not connect.
type RefusedError struct {
	Port    int
	Message string
}

// Error keeps the commonest case short: runtimes word a closed port in
// hundreds of characters, with paths of the node.
func (e *RefusedError) Error() string {
	if strings.Contains(e.Message, "connection refused") {
		return fmt.Sprintf("connection refused: nothing listens on port %d yet", e.Port)
	}
	return fmt.Sprintf("port %d: %s", e.Port, e.Message)
}

// stream is one connection through a tunnel as a net.Conn. Streams know no
// deadlines: reads go through a pipe that does, a write that overstays tears
// the stream down, after which nothing could be resent anyway.
type stream struct {
	// Conn is our end of the pipe that data is pumped into.
	net.Conn
	data   httpstream.Stream
	port   int
	remove func()

	failed  chan struct{}
	failure error

	mu       sync.Mutex
	deadline time.Time
	once     sync.Once
}

func newStream(data, failures httpstream.Stream, port int, remove func()) *stream {
	ours, pumped := net.Pipe()
	s := &stream{Conn: ours, data: data, port: port, remove: remove, failed: make(chan struct{})}
	go s.listen(failures)
	go func() {
		_, _ = io.CopyBuffer(onlyWriter{pumped}, onlyReader{data}, make([]byte, chunk))
		_ = pumped.Close()
	}()
	return s
}

// listen waits for the one message that the error stream may bring.
func (s *stream) listen(failures io.Reader) {
	message, err := io.ReadAll(io.LimitReader(failures, maxError))
	switch {
	case len(message) > 0:
		s.failure = &RefusedError{Port: s.port, Message: strings.TrimSpace(string(message))}
	case err != nil:
		s.failure = fmt.Errorf("read the error stream of port %d: %w", s.port, err)
	}
	close(s.failed)
	if s.failure != nil {
		// The data stream may stay open and silent otherwise.
		_ = s.data.Reset()
	}
}

// Read reads what came. At the end it returns why it ended, where the node says so.
func (s *stream) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	timer := time.NewTimer(afterword)
	defer timer.Stop()
	select {
	case <-s.failed:
		if s.failure != nil {
			return n, s.failure
		}
	case <-timer.C:
	}
	return n, err
}

// Write writes all of p, in frames.
func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	deadline := s.deadline
	s.mu.Unlock()
	if deadline.IsZero() {
		return s.write(p)
	}
	left := time.Until(deadline)
	if left <= 0 {
		return 0, os.ErrDeadlineExceeded
	}
	timer := time.AfterFunc(left, func() { _ = s.data.Reset() })
	n, err := s.write(p)
	if !timer.Stop() && err != nil {
		return n, os.ErrDeadlineExceeded
	}
	return n, err
}

// write cuts p into frames: a frame has at most 16 MiB, and small ones let
// other streams of the tunnel in between.
func (s *stream) write(p []byte) (int, error) {
	written := 0
	for len(p) > 0 {
		n, err := s.data.Write(p[:min(len(p), chunk)])
		written += n
		if err != nil {
			return written, err
		}
		p = p[n:]
	}
	return written, nil
}

// SetDeadline sets both deadlines.
func (s *stream) SetDeadline(t time.Time) error {
	return errors.Join(s.SetReadDeadline(t), s.SetWriteDeadline(t))
}

// SetWriteDeadline holds for writes that begin later.
func (s *stream) SetWriteDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deadline = t
	return nil
}

// Close ends both directions.
func (s *stream) Close() error {
	var err error
	s.once.Do(func() {
		// Close says goodbye, reset frees what is still buffered on the way.
		err = errors.Join(s.data.Close(), s.Conn.Close())
		_ = s.data.Reset()
		s.remove()
	})
	return err
}

// onlyReader and onlyWriter hide ReadFrom and WriteTo, which would choose
// their own, smaller buffer.
type onlyReader struct{ io.Reader }

type onlyWriter struct{ io.Writer }
