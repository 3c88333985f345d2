//go:build linux

package postgres

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/datadir"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// TestAdvance: promotions of a server that hardly writes leave no more files of one number than its timelines need.
func TestAdvance(t *testing.T) {
	t.Parallel()
	m := newSite(t).open("m1")
	m.Must(protocol.Job{Kind: protocol.Initialise})
	place := func() datadir.LSN {
		at, err := datadir.ParseLSN(m.sql("SELECT pg_current_wal_insert_lsn()"))
		if err != nil {
			t.Fatal(err)
		}
		return at / datadir.SegmentSize
	}
	for g := range protocol.Generation(3) {
		m.Must(protocol.Job{Kind: protocol.Cut, Generation: g + 1})
		m.Serve(g+1, uint64(g)+2, protocol.SyncSet{Version: uint64(g) + 1})
		began := place()
		m.Wait("the log goes on in the next file", func(protocol.Server) bool { return place() == began+1 })
		if err := m.advance(t.Context(), &m.observer); err != nil || place() != began+1 {
			t.Errorf("it goes on again, at %d: %v", place(), err)
		}
		m.Must(protocol.Job{Kind: protocol.StopNow})
		same, err := filepath.Glob(filepath.Join(m.pgdata(), "pg_wal", fmt.Sprintf("????????%016X", uint64(began))))
		if err != nil || len(same) > 2 {
			t.Errorf("of one number there are %d files: %v", len(same), err)
		}
	}
}
