//go:build linux

package valkey

import (
	"context"
	"flag"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/drivertest"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/test/port"
)

func TestMain(m *testing.M) { drivertest.Main(m) }

// program finds the server that -server names, or the first of those that hack/valkey.sh fetched, or skips the test.
func program(t *testing.T) string {
	t.Helper()
	found, _ := filepath.Glob("/var/cache/dbop-valkey/" + *which + "/*-server")
	if len(found) == 0 {
		t.Skip("no server is there: hack/valkey.sh fetches it")
	}
	return found[0]
}

var which = flag.String("server", "valkey-8", "directory of the server to test, below /var/cache/dbop-valkey")

// place is a member of a test.
type place struct {
	*Server
	*drivertest.Member
}

// site has members whose agents reach each other.
type site struct {
	*drivertest.Site
	t *testing.T
}

func newSite(t *testing.T) *site {
	t.Helper()
	return &site{drivertest.NewSite(t), t}
}

// open starts the driver of a member.
func (s *site) open(id protocol.MemberID) *place {
	s.t.Helper()
	m := s.Member(id)
	c := Config{
		ID: id, Directory: m.Directory(), Sockets: m.Sockets(), Program: program(s.t), Listen: "127.0.0.1",
		Port: port.Free(s.t), Log: s.t.Output(), Now: m.Now, Report: m.Report, Dial: m.Dial, Serves: m.Serves,
		Told: func(protocol.MemberID) protocol.Position { return protocol.Position{} }, // acknowledgements tell enough
	}
	c.Others = func() []int { return drivertest.RunningIn(c.Directory) }
	server, err := Open(c)
	if err != nil {
		s.t.Fatal(err)
	}
	m.Join(server)
	return &place{server, m}
}

// command asks the server of a member, which a busy disk may hold up.
func (p *place) command(args ...string) string {
	p.T.Helper()
	ctx, stop := context.WithTimeout(p.T.Context(), time.Minute)
	defer stop()
	return p.written(func() (string, error) { return p.ask(ctx, args...) })
}

// written repeats a command until enough replicas count for it. A replica that a busy disk holds up for three seconds
// does not count until it acknowledges again.
func (p *place) written(do func() (string, error)) string {
	p.T.Helper()
	until := time.After(time.Minute)
	for {
		got, err := do()
		if err == nil {
			return got
		}
		if !strings.Contains(err.Error(), "NOREPLICAS") {
			p.T.Fatalf("%s: %v", p.ID, err)
		}
		select {
		case <-until:
			p.T.Fatalf("%s: %v", p.ID, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
