//go:build linux

package postgres

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/drivertest"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/test/port"
)

func TestMain(m *testing.M) { drivertest.Main(m) }

// programs finds PostgreSQL as Debian lays it out, or skips the test.
func programs(t *testing.T) string {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		t.Skip("PostgreSQL is not installed: hack/postgres.sh does it")
	}
	return filepath.Dir(found[len(found)-1])
}

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
		Server: local.Server{Bin: programs(s.t), Sockets: m.Sockets(), Port: port.Free(s.t)},
		ID:     id, Directory: m.Directory(), Listen: "127.0.0.1", Log: s.t.Output(),
		Now: m.Now, Report: m.Report, Dial: m.Dial, Serves: m.Serves,
	}
	c.Others = func() []int { return drivertest.RunningIn(c.pgdata()) }
	server, err := Open(c)
	if err != nil {
		s.t.Fatal(err)
	}
	m.Join(server)
	return &place{server, m}
}

// sql asks the server of a member.
func (p *place) sql(statements string) string {
	p.T.Helper()
	ctx, stop := context.WithTimeout(p.T.Context(), 20*time.Second)
	defer stop()
	// A session as a person's: what is set for the server is in force.
	conn, err := local.Dial(ctx, p.Conninfo(p.Port, "dbname=postgres options='-c default_transaction_read_only=off'"))
	if err != nil {
		p.T.Fatalf("%s: %s: %v", p.ID, statements, err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	got, err := local.Ask(ctx, conn, statements)
	if err != nil {
		p.T.Fatalf("%s: %s: %v", p.ID, statements, err)
	}
	var cells []string
	for _, row := range got[len(got)-1] {
		cells = append(cells, strings.Join(row, " "))
	}
	return strings.Join(cells, ",")
}
