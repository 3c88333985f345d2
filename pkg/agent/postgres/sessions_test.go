//go:build linux

package postgres

import (
	"context"
	"errors"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// TestAdmit waits for a client that is not logged in, and not for one that is.
func TestAdmit(t *testing.T) {
	t.Parallel()
	_, m1, _ := pair(t)
	m1.sql("CREATE ROLE app LOGIN PASSWORD 'word'")
	in, err := pgconn.Connect(t.Context(), "host=127.0.0.1 sslmode=disable user=app password=word dbname=postgres port="+
		strconv.Itoa(m1.Port))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close(context.WithoutCancel(t.Context())) }()
	admit := protocol.Job{Kind: protocol.Admit, Generation: 1}
	m1.Must(admit)
	c, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(m1.Port))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer stop()
	if err := m1.Do(ctx, admit, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it does not wait for a client that says nothing: %v", err)
	}
	time.AfterFunc(300*time.Millisecond, func() { _ = c.Close() })
	m1.Must(admit)
}

// TestSweep: a replica that learns late that a role is gone ends its sessions by itself, and no others.
func TestSweep(t *testing.T) {
	t.Parallel()
	_, m1, m2 := pair(t)
	ctx := t.Context()
	m1.sql("CREATE ROLE stays LOGIN PASSWORD 'word'; CREATE ROLE goes LOGIN PASSWORD 'word'")
	m2.Wait("the roles", func(protocol.Server) bool {
		return m2.sql("SELECT count(*) FROM pg_roles WHERE rolname IN ('stays', 'goes')") == "2"
	})
	open := map[string]*pgconn.PgConn{}
	for _, name := range []string{"stays", "goes"} {
		conn, err := pgconn.Connect(ctx, "host=127.0.0.1 sslmode=disable user="+name+
			" password=word dbname=postgres port="+strconv.Itoa(m2.Port))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
		open[name] = conn
	}
	m2.sql("SELECT pg_wal_replay_pause()")
	if err := m1.DeleteUser(ctx, "goes"); err != nil {
		t.Fatal(err)
	}
	if err := m2.EndSessions(ctx, "goes"); err == nil {
		t.Fatal("a replica that applies nothing knows that the role is gone")
	}
	m2.sql("SELECT pg_wal_replay_resume()")
	m2.Wait("the session of the role that is gone ends", func(protocol.Server) bool {
		return m2.sql("SELECT count(*) FROM pg_stat_activity WHERE client_port > 0") == "1"
	})
	if _, err := open["stays"].Exec(ctx, "SELECT 1").ReadAll(); err != nil {
		t.Errorf("the session of a role that is there: %v", err)
	}
}
