// Package session asks a server of Valkey or Redis over one connection.
package session

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/resp"
)

// AnswerError is an error that the server itself answered: it is alive.
type AnswerError string

// Error returns what the server answered.
func (e AnswerError) Error() string { return "the server answers: " + string(e) }

// Session is one connection to a server. As a connection it reads what comes after the last answer. One goroutine uses
// it at a time, but for Close and the deadlines.
type Session struct {
	net.Conn
	in *bufio.Reader
}

// On makes a session of a connection on which nobody has logged in yet.
func On(conn net.Conn) *Session { return &Session{Conn: conn, in: bufio.NewReader(conn)} }

// Read reads what comes after the last answer.
func (s *Session) Read(p []byte) (int, error) { return s.in.Read(p) }

// Dial enters by the Unix socket as one of the users of the agent.
func Dial(ctx context.Context, socket, user, password string) (*Session, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("connect to the server: %w", err)
	}
	s := On(conn)
	if _, err := s.Do(ctx, "AUTH", user, password); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return s, nil
}

// AskTime bounds a question whose context has no deadline.
const AskTime = 5 * time.Second

// Do sends one command and returns its answer: a string, or the elements of a list as lines. What the server answers as
// an error is an AnswerError. After any other error the session is of no use any more. Without a deadline of the
// context it takes AskTime at most.
func (s *Session) Do(ctx context.Context, args ...string) (string, error) {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(AskTime)
	}
	if err := s.SetDeadline(deadline); err != nil {
		return "", fmt.Errorf("ask the server: %w", err)
	}
	if _, err := s.Write(resp.Encode(args)); err != nil {
		return "", fmt.Errorf("ask the server: %w", err)
	}
	return readAnswer(s.in)
}

// MostBulk bounds one string of an answer, in bytes.
const MostBulk = 8 << 20

func readLine(in *bufio.Reader) (string, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("read an answer of the server: %w", err)
	}
	return strings.TrimRight(line, "\r\n"), nil
}

func readAnswer(in *bufio.Reader) (string, error) {
	line, err := readLine(in)
	if err != nil {
		return "", err
	}
	if line == "" {
		return "", errors.New("read an answer of the server: it is empty")
	}
	switch kind, rest := line[0], line[1:]; kind {
	case '+', ':':
		return rest, nil
	case '-':
		return "", AnswerError(rest)
	case '$':
		return readBulk(in, rest)
	case '*':
		n, err := strconv.Atoi(rest)
		if err != nil {
			return "", fmt.Errorf("read an answer of the server: %q is no number of elements", rest)
		}
		var lines []string
		for range n {
			element, err := readAnswer(in)
			var answered AnswerError
			if err != nil && !errors.As(err, &answered) {
				return "", err
			}
			lines = append(lines, element)
		}
		return strings.Join(lines, "\n"), nil
	}
	return "", fmt.Errorf("read an answer of the server: %q begins as no answer does", line)
}

func readBulk(in *bufio.Reader, length string) (string, error) {
	n, err := strconv.Atoi(length)
	if err != nil || n > MostBulk {
		return "", fmt.Errorf("read an answer of the server: %q is no length", length)
	}
	if n < 0 {
		return "", nil
	}
	raw := make([]byte, n+2)
	if _, err := io.ReadFull(in, raw); err != nil {
		return "", fmt.Errorf("read an answer of the server: %w", err)
	}
	return string(raw[:n]), nil
}

// Escape takes the meaning from the signs of a pattern.
func Escape(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`).Replace(text)
}
