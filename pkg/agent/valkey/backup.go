//go:build linux

package valkey

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/loaded"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/resp"
)

const (
	// copyIdle is how long the server may say nothing while it copies: it says something each second before it begins.
	copyIdle = time.Minute
	// copyBuffer is what is held of a copy. It is more than the mark at its end.
	copyBuffer = 256 << 10
	markBytes  = 40
)

// Copy writes a file with all data, as the server sends it to a replica.
func (s *Server) Copy(ctx context.Context, w io.Writer) error {
	if s.running() == nil {
		return errors.New("copy the data: its server does not run")
	}
	c, err := s.enter(ctx)
	if err != nil {
		return fmt.Errorf("copy the data: %w", err)
	}
	defer c.Close() //nolint:errcheck // it is of no use any more
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	// The server does not take who asks so for a replica, and sends nothing after the file.
	for _, command := range [][]string{{"REPLCONF", "capa", "eof"}, {"REPLCONF", "rdb-only", "1"}} {
		if _, err := c.do(ctx, command...); err != nil {
			return fmt.Errorf("copy the data: %w", err)
		}
	}
	if _, err := c.Write(resp.Encode([]string{"SYNC"})); err != nil {
		return fmt.Errorf("copy the data: %w", err)
	}
	mark, err := c.awaitCopy()
	if err == nil {
		err = c.passUntil(mark, w)
	}
	if err != nil {
		return fmt.Errorf("copy the data: %w", errors.Join(ctx.Err(), err))
	}
	return nil
}

// awaitCopy waits until the server begins, and returns the mark that ends the file.
func (s *session) awaitCopy() ([]byte, error) {
	for {
		if err := s.SetDeadline(time.Now().Add(copyIdle)); err != nil {
			return nil, err
		}
		line, err := readLine(s.in)
		if err != nil {
			return nil, err
		}
		mark, marked := strings.CutPrefix(line, "$EOF:")
		switch {
		case line == "": // it has not started
		case strings.HasPrefix(line, "-"):
			return nil, answerError(line[1:])
		case marked && len(mark) == markBytes:
			return []byte(mark), nil
		default:
			return nil, fmt.Errorf("the server begins a copy with %q", line)
		}
	}
}

// passUntil passes what comes before a mark. Nothing comes after it.
func (s *session) passUntil(mark []byte, w io.Writer) error {
	buffer, held := make([]byte, copyBuffer), 0
	for {
		if err := s.SetDeadline(time.Now().Add(copyIdle)); err != nil {
			return err
		}
		n, err := s.in.Read(buffer[held:])
		held += n
		whole := bytes.HasSuffix(buffer[:held], mark)
		pass := max(0, held-len(mark))
		if whole || pass > 0 {
			if _, failed := w.Write(buffer[:pass]); failed != nil {
				return failed
			}
		}
		if whole {
			return nil
		}
		held = copy(buffer, buffer[pass:held])
		if err != nil {
			return fmt.Errorf("the server ended the copy before its end: %w", err)
		}
	}
}

// Contents says of which backup the data was made, once the server has loaded it. Other data has no proof.
func (s *Server) Contents(context.Context) (api.Contents, error) {
	record, found, err := loaded.Read(s.data())
	if err != nil || !found {
		return api.Contents{}, err
	}
	s.mu.Lock()
	ready := s.ready
	s.mu.Unlock()
	if !ready {
		return api.Contents{}, errors.New("describe the data: the server has not loaded it yet")
	}
	return record.Contents, nil
}
