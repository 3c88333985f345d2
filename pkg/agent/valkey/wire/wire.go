// Package wire is between two servers of Valkey or Redis that replicate: it greets, watches and counts.
package wire

import (
	"bufio"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/resp"
)

// greetTime bounds the first commands of a server.
const greetTime = 5 * time.Second

// mostBytes bounds one argument of a command of a replica.
const mostBytes = 8 << 20

// replicaBounds are those of a command of a replica.
var replicaBounds = resp.Bounds{Arguments: 16, Bytes: mostBytes}

// buffered is a connection of which some bytes were read already.
type buffered struct {
	net.Conn
	in *bufio.Reader
}

// Read reads what is left.
func (b buffered) Read(p []byte) (int, error) { return b.in.Read(p) }

// Greet answers the first commands of the server beside this agent in the place of its primary. Only that server knows
// the password.
func Greet(server net.Conn, password string) (net.Conn, error) {
	if err := server.SetDeadline(time.Now().Add(greetTime)); err != nil {
		return nil, fmt.Errorf("greet a replica: %w", err)
	}
	in := bufio.NewReader(server)
	for {
		args, err := resp.ReadCommand(in, replicaBounds)
		if err != nil {
			return nil, err
		}
		answer := "-NOAUTH Authentication required.\r\n"
		proved := false
		switch strings.ToUpper(args[0]) {
		case "PING":
			answer = "+PONG\r\n"
		case "AUTH":
			if proved = subtle.ConstantTimeCompare([]byte(args[len(args)-1]), []byte(password)) == 1; proved {
				answer = "+OK\r\n"
			}
		}
		if _, err := io.WriteString(server, answer); err != nil {
			return nil, fmt.Errorf("greet a replica: %w", err)
		}
		if proved {
			return buffered{Conn: server, in: in}, server.SetDeadline(time.Time{})
		}
	}
}

// ErrFull ends a stream whose primary wants to replace all data of a copy that may be needed.
var ErrFull = errors.New("the primary wants to replace all data")

// watched is what the server of a replica reads of its primary. It ends before a full synchronisation begins, unless
// that is allowed.
type watched struct {
	net.Conn
	in *bufio.Reader
	// full is asked once, when the primary wants to replace all data.
	full    func() bool
	ready   []byte
	decided bool
}

// Watch passes what a primary sends, and ends with ErrFull before it replaces all data unless full allows it. full is
// asked once, when the primary begins.
func Watch(primary net.Conn, full func() bool) net.Conn {
	return &watched{Conn: primary, in: bufio.NewReaderSize(primary, 64<<10), full: full}
}

// Read passes whole lines until the primary has said what follows, and then everything.
func (w *watched) Read(p []byte) (int, error) {
	if len(w.ready) == 0 && w.decided {
		return w.in.Read(p)
	}
	if len(w.ready) == 0 {
		line, err := w.in.ReadString('\n')
		if err != nil {
			return 0, err
		}
		switch {
		case strings.HasPrefix(line, "+CONTINUE"):
			w.decided = true
		case strings.HasPrefix(line, "+FULLRESYNC"), strings.HasPrefix(line, "$"):
			if !w.full() {
				return 0, ErrFull
			}
			w.decided = true
		}
		w.ready = []byte(line)
	}
	n := copy(p, w.ready)
	w.ready = w.ready[n:]
	return n, nil
}

// counted is what the server of a primary reads of a replica. The replica's acknowledgements count for nobody who waits
// until the copy is in the set.
type counted struct {
	net.Conn
	in    *bufio.Reader
	acks  func() bool
	ready []byte
}

// Count passes what a replica sends. Its acknowledgements say 0 as long as acks says no.
func Count(replica net.Conn, acks func() bool) net.Conn {
	return &counted{Conn: replica, in: bufio.NewReader(replica), acks: acks}
}

// Read passes one command after the other.
func (c *counted) Read(p []byte) (int, error) {
	if len(c.ready) == 0 {
		args, err := resp.ReadCommand(c.in, replicaBounds)
		if err != nil {
			return 0, err
		}
		switch command := strings.ToUpper(args[0]); {
		case command == "PSYNC" && len(args) != 3:
			return 0, errors.New("a replica asks for a failover, which only the agents may begin")
		case command == "REPLCONF" && len(args) > 2 && strings.EqualFold(args[1], "ACK") && !c.acks():
			args = []string{"REPLCONF", "ACK", "0"} // it is still known to be there
		}
		c.ready = resp.Encode(args)
	}
	n := copy(p, c.ready)
	c.ready = c.ready[n:]
	return n, nil
}
