package valkey

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/resp"
)

// answerError is an error that the server itself answered: it is alive.
type answerError string

// Error returns what the server answered.
func (e answerError) Error() string { return "the server answers: " + string(e) }

// session is one connection to a server.
type session struct {
	net.Conn
	in *bufio.Reader
}

// dial enters by the Unix socket as one of the users of the agent.
func dial(ctx context.Context, socket, user, password string) (*session, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("connect to the server: %w", err)
	}
	s := &session{Conn: conn, in: bufio.NewReader(conn)}
	if _, err := s.do(ctx, "AUTH", user, password); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return s, nil
}

// askTime bounds a question whose context has no deadline.
const askTime = 5 * time.Second

// do sends one command and returns its answer: a string, or the elements of a list as lines.
func (s *session) do(ctx context.Context, args ...string) (string, error) {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(askTime)
	}
	if err := s.SetDeadline(deadline); err != nil {
		return "", fmt.Errorf("ask the server: %w", err)
	}
	if _, err := s.Write(resp.Encode(args)); err != nil {
		return "", fmt.Errorf("ask the server: %w", err)
	}
	return readAnswer(s.in)
}

// mostBulk bounds one string of an answer.
const mostBulk = 8 << 20

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
		return "", answerError(rest)
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
			var answered answerError
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
	if err != nil || n > mostBulk {
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

// escape takes the meaning from the signs of a pattern.
func escape(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`).Replace(text)
}

// connection is one session that is opened when it is needed, and again after an error.
type connection struct {
	open func(context.Context) (*session, error)

	mu      sync.Mutex
	session *session
}

func (c *connection) do(ctx context.Context, args ...string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == nil {
		s, err := c.open(ctx)
		if err != nil {
			return "", err
		}
		c.session = s
	}
	answer, err := c.session.do(ctx, args...)
	var answered answerError
	if err != nil && !errors.As(err, &answered) {
		c.drop()
	}
	return answer, err
}

func (c *connection) drop() {
	if c.session != nil {
		_ = c.session.Close() // it may be broken
		c.session = nil
	}
}

func (c *connection) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop()
}
