package wire

import (
	"bufio"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/resp"
)

// reading is a connection from which a text is read.
type reading struct {
	net.Conn
	io.Reader
}

func (r reading) Read(p []byte) (int, error) { return r.Reader.Read(p) }

func TestWatch(t *testing.T) {
	t.Parallel()
	const greeting = "+OK\r\n\r\n+OK\r\n"
	for name, c := range map[string]struct {
		sent, passed string
		allowed      bool
		refused      bool
	}{
		"it goes on": {sent: greeting + "+CONTINUE abc\r\n*1\r\n", passed: greeting +
			"+CONTINUE abc\r\n*1\r\n"},
		"all data":               {sent: greeting + "+FULLRESYNC abc 1\r\n$EOF:", passed: greeting, refused: true},
		"all data, the old way":  {sent: "$100\r\nREDIS", refused: true},
		"all data, into nothing": {sent: "+FULLRESYNC abc 1\r\n$E", passed: "+FULLRESYNC abc 1\r\n$E", allowed: true},
		"the word in the data":   {sent: "+CONTINUE\r\n+FULLRESYNC\r\n", passed: "+CONTINUE\r\n+FULLRESYNC\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := Watch(reading{Reader: strings.NewReader(c.sent)}, func() bool { return c.allowed })
			passed, err := io.ReadAll(w)
			if string(passed) != c.passed || errors.Is(err, ErrFull) != c.refused {
				t.Errorf("%q passes, with the error %v; want %q", passed, err, c.passed)
			}
		})
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	command := func(args ...string) string { return string(resp.Encode(args)) }
	for name, c := range map[string]struct {
		sent, passed string
		acks, ends   bool
	}{
		"in the set":  {sent: command("REPLCONF", "ACK", "17"), passed: command("REPLCONF", "ACK", "17"), acks: true},
		"outside":     {sent: command("REPLCONF", "ACK", "17"), passed: command("REPLCONF", "ACK", "0")},
		"with a sync": {sent: command("replconf", "ack", "17", "FACK", "9"), passed: command("REPLCONF", "ACK", "0")},
		"a greeting":  {sent: command("REPLCONF", "capa", "eof"), passed: command("REPLCONF", "capa", "eof")},
		"a failover":  {sent: command("PSYNC", "abc", "1", "FAILOVER"), ends: true},
		"a request":   {sent: command("PSYNC", "?", "-1"), passed: command("PSYNC", "?", "-1")},
		"the old way": {sent: "SYNC\r\n", ends: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			passed, err := io.ReadAll(Count(reading{Reader: strings.NewReader(c.sent)}, func() bool { return c.acks }))
			if string(passed) != c.passed || errors.Is(err, io.EOF) == c.ends {
				t.Errorf("%q passes, with the error %v; want %q", passed, err, c.passed)
			}
		})
	}
}

func TestGreet(t *testing.T) {
	t.Parallel()
	for _, password := range []string{"right", "wrong"} {
		ours, theirs := net.Pipe()
		answers := make(chan string, 2)
		go func() {
			in := bufio.NewReader(theirs)
			for _, args := range [][]string{{"PING"}, {"AUTH", "dbop-replication", password}} {
				_, _ = theirs.Write(resp.Encode(args))
				line, _ := in.ReadString('\n')
				answers <- strings.TrimRight(line, "\r\n")
			}
			if password == "wrong" { // otherwise not yet: a deadline of a pipe can't be set once the other end is closed
				_ = theirs.Close()
			}
		}()
		_, err := Greet(ours, "right")
		if got := <-answers; got != "+PONG" {
			t.Errorf("PING is answered with %q", got)
		}
		if got := <-answers; (got == "+OK") != (password == "right") || (err == nil) != (password == "right") {
			t.Errorf("the %s password is answered with %q: %v", password, got, err)
		}
	}
}
