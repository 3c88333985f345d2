package sentinel

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/resp"
)

// site is the agent of m1, asked by clients. Of its members, m3 does not stream.
type site struct {
	t      *testing.T
	server *Server
	now    protocol.Instant
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, now: 100}
	at := func(port int) func(protocol.MemberID) string {
		return func(id protocol.MemberID) string { return fmt.Sprintf("%s.db:%d", id, port) }
	}
	s.server = New(Config{
		Member: "m1", Name: "db", Server: at(6379), Agent: at(26379), Now: func() protocol.Instant { return s.now },
		Members: func() []protocol.MemberID { return []protocol.MemberID{"m1", "m2", "m3"} },
		Allows:  func(user, password string) bool { return user == "app" && password == "secret" },
	})
	t.Cleanup(s.server.end)
	return s
}

// leads has a member be the primary until a time, m2 its replica.
func (s *site) leads(id protocol.MemberID, g protocol.Generation) {
	s.server.Set(protocol.Route{Primary: id, Generation: g, Until: 1000, Lease: 50, Replicas: []protocol.MemberID{"m2"}})
}

// client is what one sends and reads.
type client struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func (s *site) connect(first ...string) *client {
	s.t.Helper()
	near, far := net.Pipe()
	s.server.open(far)
	s.t.Cleanup(func() { _ = near.Close() })
	_ = near.SetDeadline(time.Now().Add(5 * time.Second))
	c := &client{s.t, near, bufio.NewReader(near)}
	for _, command := range first {
		c.ask(command)
	}
	return c
}

func (c *client) ask(command string) string {
	c.t.Helper()
	if _, err := c.conn.Write(resp.Encode(strings.Fields(command))); err != nil {
		c.t.Fatal(err)
	}
	return c.read()
}

// read reads one answer, and shows it with spaces between its elements.
func (c *client) read() string {
	c.t.Helper()
	line, err := c.in.ReadString('\n')
	if err != nil {
		c.t.Fatal(err)
	}
	line = strings.TrimSpace(line)
	n := 0
	switch line[0] {
	case '$':
		_, _ = fmt.Sscan(line[1:], &n)
		raw := make([]byte, n+2)
		if _, err := io.ReadFull(c.in, raw); err != nil {
			c.t.Fatal(err)
		}
		return string(raw[:n])
	case '*', '>', '%':
		_, _ = fmt.Sscan(line[1:], &n)
		if n < 0 {
			return line
		}
		if line[0] == '%' {
			n *= 2
		}
		all := []string{}
		for range n {
			all = append(all, c.read())
		}
		return string(line[0]) + "[" + strings.Join(all, " ") + "]"
	}
	return line
}

const login = "AUTH app secret"

func TestAnswers(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"PING":                                "+PONG",
		"sentinel get-master-addr-by-name db": "*[m1.db 6379]",
		"SENTINEL get-master-addr-by-name no": "*-1",
		"SENTINEL master no":                  "-ERR No such master with that name",
		"SENTINEL master":                     "-ERR syntax error",
		"SENTINEL failover db": "-ERR the agents agree on the primary by themselves: change it by kubectl dbop " +
			"switchover",
		"SENTINEL ckquorum db":    "+OK 3 usable Sentinels. The agents agree on a primary.",
		"ROLE":                    "*[sentinel *[db]]",
		"CLIENT SETNAME me":       "+OK",
		"CLIENT SETINFO LIB-NAME": "+OK",
		"CLIENT KILL":             "-ERR unknown subcommand of CLIENT",
		"COMMAND DOCS":            "*[]",
		"AUTH app wrong":          string("-" + errWrong),
		"AUTH secret":             string("-" + errWrong),
		"GET \r\nk":               "",
		"HELLO 4":                 "-NOPROTO unsupported protocol version",
		"HELLO 3 SETNAME me":      "%[server redis version 7.0.0 proto :3 id :1 mode sentinel role sentinel modules *[]]",
		"QUIT":                    "+OK",
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.leads("m1", 1)
			got := s.connect(login).ask(command)
			if want == "" && strings.HasPrefix(got, "-ERR unknown command 'GET'") {
				return
			}
			if got != want {
				t.Errorf("it answers %q, want %q", got, want)
			}
		})
	}
}

// TestInstances asks for what clients read of lists.
func TestInstances(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.leads("m1", 7)
	c := s.connect(login)
	for command, wants := range map[string][]string{
		"SENTINEL masters": {"name db ip m1.db port 6379", "flags master", "num-slaves 2",
			"num-other-sentinels 2", "quorum 2"},
		"SENTINEL master db": {"*[name db ip m1.db"},
		"SENTINEL replicas db": {"name m2.db:6379 ip m2.db port 6379", "flags slave link", "master-link-status ok",
			"ip m3.db port 6379", "flags slave,s_down,disconnected", "master-host m1.db"},
		"SENTINEL slaves db":    {"name m2.db:6379"},
		"SENTINEL sentinels db": {"ip m2.db port 26379", "flags sentinel", "name m3.db:26379"},
		"INFO":                  {"redis_mode:sentinel", "master0:name=db,status=ok,address=m1.db:6379,slaves=2,sentinels=3"},
	} {
		got := c.ask(command)
		for _, want := range wants {
			if !strings.Contains(got, want) {
				t.Errorf("%s does not answer %q: %s", command, want, got)
			}
		}
		if strings.Contains(got, "name m1.db:") {
			t.Errorf("%s tells of this one: %s", command, got)
		}
	}
	if got := s.connect("HELLO 3 AUTH app secret").ask("SENTINEL master db"); !strings.HasPrefix(got, "%[name db") {
		t.Errorf("version 3 of the protocol gets %s", got)
	}
}

// TestStrangers: without a user of the database there is no answer.
func TestStrangers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.leads("m1", 1)
	c := s.connect()
	for _, command := range []string{"PING", "SENTINEL masters", "SUBSCRIBE +switch-master", "INFO", "AUTH app no",
		"HELLO", "HELLO 3", "HELLO 3 AUTH app no"} {
		if got := c.ask(command); !strings.HasPrefix(got, "-NOAUTH") && got != string("-"+errWrong) {
			t.Errorf("%s is answered by %s", command, got)
		}
	}
}

// TestSwitch tells those who subscribed, in either version of the protocol, and by a pattern.
func TestSwitch(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.connect(login)
	if got := c.ask("SENTINEL get-master-addr-by-name db"); got != string("-"+errLost) {
		t.Errorf("before a primary is known the answer is %s", got)
	}
	s.leads("m1", 1)
	two, three := s.connect(login, "SUBSCRIBE +switch-master other"), s.connect("HELLO 3 AUTH app secret", "PSUBSCRIBE *")
	two.read() // for the other channel
	none := s.connect(login, "SUBSCRIBE +switch-master", "UNSUBSCRIBE")
	s.server.Set(protocol.Route{}) // between two primaries
	s.leads("m1", 2)
	s.leads("m2", 3)
	const said = "+switch-master db m1.db 6379 m2.db 6379]"
	if got := two.read(); got != "*[message "+said {
		t.Errorf("version 2 is told %s", got)
	}
	if got := three.read(); got != ">[pmessage * "+said {
		t.Errorf("version 3 is told %s", got)
	}
	if got := two.ask("PING"); got != "*[pong ]" {
		t.Errorf("a client that subscribed gets %s", got)
	}
	if got := none.ask("PING"); got != "+PONG" {
		t.Errorf("a client that subscribed no more gets %s", got)
	}
	if got := c.ask("SENTINEL get-master-addr-by-name db"); got != "*[m2.db 6379]" {
		t.Errorf("the primary is %s", got)
	}
	s.server.Set(protocol.Route{}) // the last one is told until nothing was heard for a lease
	if got := c.ask("SENTINEL get-master-addr-by-name db"); got != "*[m2.db 6379]" {
		t.Errorf("between two primaries the answer is %s", got)
	}
	s.now = 1050
	if got := c.ask("SENTINEL get-master-addr-by-name db"); got != string("-"+errLost) {
		t.Errorf("an agent that lost the group answers %s", got)
	}
}

// TestIdle: a client that reads nothing does not hold up the agent, and loses its session.
func TestIdle(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.connect(login, "SUBSCRIBE +switch-master")
	for g := range protocol.Generation(4 * mostWaiting) {
		s.leads([]protocol.MemberID{"m1", "m2"}[g%2], g+1)
	}
	if _, err := io.Copy(io.Discard, c.in); err != nil && !strings.Contains(err.Error(), "closed") {
		t.Errorf("it is still there: %v", err)
	}
}

// TestRun listens, and ends all with the context.
func TestRun(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.server.config.Listen = l.Addr().String()
	_ = l.Close()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.server.Run(ctx) }()
	var conn net.Conn
	for began := time.Now(); conn == nil; {
		if conn, err = net.Dial("tcp", s.server.config.Listen); err != nil && time.Since(began) > 5*time.Second {
			t.Fatal(err)
		}
	}
	c := &client{t, conn, bufio.NewReader(conn)}
	if got := c.ask(login); got != "+OK" {
		t.Errorf("it answers %s", got)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := c.in.ReadByte(); err == nil {
		t.Error("the session goes on")
	}
}
