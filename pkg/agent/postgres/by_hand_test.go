//go:build linux

package postgres

import (
	"syscall"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// TestSmartShutdown asks servers to end once their sessions have, while one is open that never ends. The agent ends
// them in order: the primary's position is known, and its replica has all of its log.
func TestSmartShutdown(t *testing.T) {
	t.Parallel()
	_, m1, m2 := pair(t)
	for _, m := range []*place{m2, m1} {
		conn, err := local.Dial(t.Context(), m.Conninfo(m.Port, "dbname=postgres"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context())
		if m == m1 {
			m.sql("INSERT INTO rows SELECT generate_series(1, 1000)")
		}
		began := time.Now()
		if err := syscall.Kill(m.running().Cmd.Process.Pid, syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		o := m.Wait("the end of its server", func(o protocol.Server) bool { return o.Role == protocol.Stopped })
		t.Logf("%s ended after %s", m.ID, time.Since(began).Truncate(time.Millisecond))
		if m == m2 {
			m2.Must(protocol.Job{Kind: protocol.Follow, Generation: 1, Member: "m1"})
			m1.Wait("m2 streams", func(o protocol.Server) bool { return len(o.Standbys) == 1 })
			continue
		}
		report := m2.Must(protocol.Job{Kind: protocol.Cut, Generation: 2})
		if o.Unread || o.Position != report.Position {
			t.Errorf("the primary ended with %+v, the replica reports %+v", o, report)
		}
	}
}

// TestSmartShutdownHangs has a session not end either: the server is killed soon.
func TestSmartShutdownHangs(t *testing.T) {
	t.Parallel()
	_, m1, _ := pair(t)
	conn, err := local.Dial(t.Context(), m1.Conninfo(m1.Port, "dbname=postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for _, stop := range []struct {
		pid    int
		signal syscall.Signal
	}{{int(conn.PID()), syscall.SIGSTOP}, {m1.running().Cmd.Process.Pid, syscall.SIGTERM}} {
		if err := syscall.Kill(stop.pid, stop.signal); err != nil {
			t.Fatal(err)
		}
	}
	o := m1.Wait("the end of its server", func(o protocol.Server) bool { return o.Role == protocol.Stopped })
	if !o.Unread || len(m1.Others()) > 0 {
		t.Errorf("it was not killed: %+v, and these processes are left: %v", o, m1.Others())
	}
}

// TestStopIsOurs has a server that the agent itself stops go on as long as it takes.
func TestStopIsOurs(t *testing.T) {
	t.Parallel()
	_, m1, _ := pair(t)
	p := m1.running()
	m1.asked = p
	if err := syscall.Kill(p.Cmd.Process.Pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for !m1.stops(p) {
		time.Sleep(10 * time.Millisecond)
	}
	m1.Observe(t.Context())
	time.Sleep(2 * byHandTime)
	if p.Over() {
		t.Error("the agent ended it for another reason than its job")
	}
}
