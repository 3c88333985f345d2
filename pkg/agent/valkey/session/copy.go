package session

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/resp"
)

const (
	// copyIdle is how long the server may say nothing while it copies: it says something each second before it begins.
	copyIdle = time.Minute
	// copyBuffer is what is held of a copy. It is more than the mark at its end.
	copyBuffer = 256 << 10
	markBytes  = 40
)

// Copy asks for a file with all data, as a replica does that takes nothing else, and writes it. Nothing comes after it:
// the session is of no use any more. Closing the session ends it.
func (s *Session) Copy(w io.Writer) error {
	if _, err := s.Write(resp.Encode([]string{"SYNC"})); err != nil {
		return err
	}
	mark, err := s.awaitCopy()
	if err != nil {
		return err
	}
	return s.passUntil(mark, w)
}

// awaitCopy waits until the server begins, and returns the mark that ends the file.
func (s *Session) awaitCopy() ([]byte, error) {
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
			return nil, AnswerError(line[1:])
		case marked && len(mark) == markBytes:
			return []byte(mark), nil
		default:
			return nil, fmt.Errorf("the server begins a copy with %q", line)
		}
	}
}

// passUntil passes what comes before a mark. Nothing comes after it.
func (s *Session) passUntil(mark []byte, w io.Writer) error {
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
