//go:build linux

package postgres

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// TestReaders: a reader whose snapshot the log has to wait for does not hold a failover up; one that is in no
// transaction stays.
func TestReaders(t *testing.T) {
	t.Parallel()
	_, m1, m2 := pair(t)
	ctx := t.Context()
	client := api.NewUser{User: api.User{Name: "client", Role: "client", Grants: []api.Grant{{}}}, Password: "p"}
	if err := m1.EnsureUser(ctx, client); err != nil {
		t.Fatal(err)
	}
	m1.sql("GRANT ALL ON rows TO dbop_owner_app; GRANT CONNECT ON DATABASE postgres TO dbop_owner_app")
	m1.sql("INSERT INTO rows SELECT generate_series(1, 1000)")
	m2.Wait("m2 has the rows", func(protocol.Server) bool { return m2.sql("SELECT count(*) FROM rows") == "1000" })
	enter := func() func(string) error {
		conn, err := local.Dial(ctx, fmt.Sprintf("host=127.0.0.1 port=%d user=client password=p dbname=postgres", m2.Port))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(ctx)) })
		return func(statement string) error {
			_, err := local.Ask(ctx, conn, statement)
			return err
		}
	}
	idle, reads := enter(), enter()
	if err := reads("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM rows"); err != nil {
		t.Fatal(err)
	}
	m1.sql("DELETE FROM rows")
	m1.sql("VACUUM rows")
	end := m1.sql("SELECT pg_current_wal_flush_lsn()")
	m2.Wait("m2 has the end of the log", func(protocol.Server) bool {
		return m2.sql("SELECT pg_last_wal_receive_lsn() >= '"+end+"'") == "t"
	})
	start := time.Now()
	m2.Must(protocol.Job{Kind: protocol.Cut, Generation: 2})
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("a reader held the log up for %s", took)
	}
	if reads("SELECT 1") == nil {
		t.Error("the session that held the log up is still open")
	}
	if err := idle("SELECT 1"); err != nil {
		t.Errorf("a session that held nothing up was ended: %v", err)
	}
}
