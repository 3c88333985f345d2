//go:build linux

package postgres

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/datadir"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// TestSavedLog: what waits for the archive does so although a rewind ended in the middle, and the copy is made again.
func TestSavedLog(t *testing.T) {
	t.Parallel()
	_, m1, m2 := pair(t)
	first, given := datadir.SegmentName(2, 1), datadir.SegmentName(1, 10)
	m2.Must(protocol.Job{Kind: protocol.StopNow})
	for _, name := range []string{first, given} {
		for path, content := range map[string]string{
			filepath.Join(m2.pgdata(), "pg_wal", name):                            "of " + name,
			filepath.Join(m2.pgdata(), "pg_wal", "archive_status", name+".ready"): "",
		} {
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	// The history of the next copy gives one of them up.
	past := datadir.Lineage{Timeline: 2, Forks: []datadir.Fork{{Timeline: 1, End: 11 * datadir.SegmentSize}}}
	if err := m2.files.Keep(past); err != nil {
		t.Fatal(err)
	}
	if err := m2.setIdentity(func(id *datadir.Identity) { id.Rewinding = true }); err != nil {
		t.Fatal(err)
	}
	m2.Must(protocol.Job{Kind: protocol.Discard})
	settings := protocol.Settings{Values: map[string]string{"archive_mode": "always"}}
	m2.Must(protocol.Job{Kind: protocol.Clone, Generation: 1, Member: "m1", Settings: settings})
	got, err := m2.files.Waiting()
	if err != nil || !slices.Contains(got, first) || slices.Contains(got, given) {
		t.Errorf("%v wait, %v", got, err)
	}
	if raw, err := os.ReadFile(filepath.Join(m2.pgdata(), "pg_wal", first)); err != nil || string(raw) != "of "+first {
		t.Errorf("%d bytes, %v", len(raw), err)
	}
	if _, err := os.Stat(m2.files.Saved); !os.IsNotExist(err) {
		t.Errorf("it is still kept: %v", err)
	}
	m2.Must(protocol.Job{Kind: protocol.Follow, Generation: 1, Member: "m1"})
	m1.Wait("m2 streams", func(o protocol.Server) bool { return len(o.Standbys) == 1 })
}
