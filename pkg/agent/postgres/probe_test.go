//go:build linux

package postgres

import (
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// TestLoadReleases has a write wait for a standby that is not there, when one that streams takes its place. The server
// learns only from its next word that this one holds the write: it is asked for that word, and not waited for.
func TestLoadReleases(t *testing.T) {
	t.Parallel()
	_, m1, m2 := pair(t)
	load := func(version uint64, standby protocol.Standby) {
		set := protocol.SyncSet{Version: version, Need: 1, Standbys: []protocol.Standby{standby}}
		m1.Must(protocol.Job{Kind: protocol.Load, Generation: 1, Set: set})
	}
	load(2, protocol.Standby{Member: "m3", Volume: "gone"})
	written := make(chan error, 1)
	go func() {
		conn, err := local.Dial(t.Context(), m1.Conninfo(m1.Port, "dbname=postgres"))
		if err == nil {
			_, err = local.Ask(t.Context(), conn, "INSERT INTO rows VALUES (1)")
		}
		written <- err
	}()
	probed := func() protocol.Instant {
		m1.mu.Lock()
		defer m1.mu.Unlock()
		return m1.flushed
	}
	waits := "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE 'INSERT%'"
	for deadline := time.Now().Add(20 * time.Second); m1.sql(waits) != "1"; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the write does not wait")
		}
	}
	for last, deadline := probed(), time.Now().Add(20*time.Second); probed() == last; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the server is not probed")
		}
	}
	began := time.Now()
	load(3, m2.standby())
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > probeInterval/2 {
		t.Errorf("a write waited for %s after a standby that holds it was loaded", took)
	}
}
