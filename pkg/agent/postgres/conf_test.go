//go:build linux

package postgres

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// TestUnchangedFiles: of the files of a server only those are written that change. A switchover waits for the disk with
// each of them.
func TestUnchangedFiles(t *testing.T) {
	t.Parallel()
	_, m1, m2 := pair(t)
	files := func() (found []os.FileInfo) {
		for _, name := range []string{"postgresql.conf", "pg_hba.conf", "pg_ident.conf"} {
			info, err := os.Stat(filepath.Join(m1.conf(), name))
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, info)
		}
		return found
	}
	before := files()
	set := protocol.SyncSet{Version: 2, Need: 1, Standbys: []protocol.Standby{m2.standby()}}
	m1.Must(protocol.Job{Kind: protocol.Load, Generation: 1, Set: set})
	for i, now := range files() {
		// A file that is written is a new one in the place of the old one.
		if changes := now.Name() == "postgresql.conf"; os.SameFile(before[i], now) == changes {
			t.Errorf("%s was written: %t, want %t", now.Name(), !changes, changes)
		}
	}
}
