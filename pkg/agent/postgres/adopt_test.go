package postgres

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/loaded"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/datadir"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// TestAdopt: the data of a backup becomes a copy once, on the timeline that the backup ended with.
func TestAdopt(t *testing.T) {
	t.Parallel()
	c := Config{Directory: t.TempDir()}
	if err := c.adopt(); err != nil {
		t.Fatalf("an empty volume: %v", err)
	}
	wal := filepath.Join(c.pgdata(), "pg_wal")
	if err := os.MkdirAll(wal, 0o700); err != nil {
		t.Fatal(err)
	}
	if id, err := datadir.ReadIdentity(c.data()); err != nil || id.Volume != "" {
		t.Fatalf("data that nobody loaded is %+v, %v", id, err)
	}
	if err := loaded.Write(c.data(), loaded.Record{End: protocol.Position{Timeline: 3, Offset: 900}}); err != nil {
		t.Fatal(err)
	}
	if err := c.adopt(); err == nil {
		t.Error("data without the history of its timeline is taken")
	}
	history := "1\t0/100\tx\n2\t0/200\tx\n"
	if err := os.WriteFile(filepath.Join(wal, datadir.HistoryName(3)), []byte(history), 0o600); err != nil {
		t.Fatal(err)
	}
	var volumes []string
	for range 2 {
		if err := c.adopt(); err != nil {
			t.Fatal(err)
		}
		id, err := datadir.ReadIdentity(c.data())
		if err != nil {
			t.Fatal(err)
		}
		want := datadir.Lineage{Timeline: 3, Forks: []datadir.Fork{{Timeline: 1, End: 0x100}, {Timeline: 2, End: 0x200}}}
		if diff := cmp.Diff(want, id.Lineage); diff != "" {
			t.Error(diff)
		}
		volumes = append(volumes, id.Volume)
	}
	if volumes[0] == "" || volumes[0] != volumes[1] {
		t.Errorf("the copies are %q", volumes)
	}
}
