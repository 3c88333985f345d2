package stream

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
)

// join passes bytes both ways until one side ends; then both are closed. Moved is called when bytes come from b.
func join(a, b net.Conn, moved func()) {
	var both sync.WaitGroup
	pass := func(to io.Writer, from io.Reader) {
		_, _ = io.Copy(struct{ io.Writer }{to}, struct{ io.Reader }{from}) // either end may break it
		_, _ = a.Close(), b.Close()
	}
	both.Go(func() { pass(a, observed{b, moved}) })
	pass(b, a)
	both.Wait()
}

// observed tells of each read.
type observed struct {
	io.Reader
	moved func()
}

// Read reads, and tells of it.
func (o observed) Read(p []byte) (int, error) {
	n, err := o.Reader.Read(p)
	o.moved()
	return n, err
}

// line reads one line and nothing after it.
func line(c net.Conn) (string, error) {
	var l []byte
	for one := make([]byte, 1); len(l) < 4096; {
		if _, err := io.ReadFull(c, one); err != nil {
			return "", err
		}
		if one[0] == '\n' {
			return string(l), nil
		}
		l = append(l, one[0])
	}
	return "", bufio.ErrTooLong
}

func listen(path string) (net.Listener, error) {
	_ = os.Remove(path) // of an agent that was killed
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen for the server beside this agent: %w", err)
	}
	return l, nil
}
