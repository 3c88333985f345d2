//go:build linux

package postgres

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/datadir"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// found inspects the copy of a member whose server does not run.
func (p *place) found() datadir.Found {
	p.T.Helper()
	f, err := datadir.Inspect(p.data())
	if err != nil {
		p.T.Fatal(err)
	}
	return f
}

// TestInspect compares the end of the log that is read in a stopped copy with what the server says once it has read it:
// of a primary that was killed, of a replica, and after a promotion.
func TestInspect(t *testing.T) {
	t.Parallel()
	_, m1, m2 := pair(t)
	m1.sql("INSERT INTO rows SELECT generate_series(1, 300000)") // more than one file of the log
	m1.sql("SELECT pg_switch_wal()")
	m1.sql("CREATE TABLE wide AS SELECT string_agg(md5(n::text), '') AS word FROM generate_series(1, 5000) n")
	at := m1.Observe(t.Context()).Position
	m2.Wait("the rows", func(o protocol.Server) bool { return o.Position.Compare(at) >= 0 })
	for _, m := range []*place{m1, m2} {
		m.Must(protocol.Job{Kind: protocol.StopNow})
		got := m.found()
		o := m.Must(protocol.Job{Kind: protocol.Cut, Generation: 2})
		if uint64(got.End) != o.Position.Offset || got.Lineage.At(got.End) != o.Position.Timeline ||
			got.System != o.System || got.InOrder || got.Bytes < 20<<20 {
			t.Errorf("%s is %+v, and the server says %+v", m.ID, got, o.Position)
		}
	}
	m2.Serve(2, 4, protocol.SyncSet{Version: 3})
	m2.sql("INSERT INTO rows VALUES (1)")
	m2.Must(protocol.Job{Kind: protocol.StopFast, Generation: 2})
	o, got := m2.Observe(t.Context()), m2.found()
	if uint64(got.End) != o.Position.Offset || got.Lineage.Timeline != 4 || !got.InOrder {
		t.Errorf("after a promotion and a stop in order it is %+v, and the server says %+v", got, o.Position)
	}

	const segment = 16 << 20
	log := filepath.Join(m2.pgdata(), "pg_wal", fmt.Sprintf("%08X%08X%08X", 4, 0, uint64(got.End)/segment))
	raw, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	raw[uint64(got.End)%segment-20] ^= 1
	if err := os.WriteFile(log, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if f, err := datadir.Inspect(m2.data()); err == nil {
		t.Errorf("the record of its last checkpoint is damaged, and it ends at %s", f.End)
	}
	if _, err := datadir.Inspect(t.TempDir()); err == nil {
		t.Error("an empty directory is a copy")
	}
}
