//go:build linux

package logfiles

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/datadir"
)

// TestKeepLog: what waits for the archive does so after a rewind, whether that removed it or took another mark for it.
// The end of a history that is given up is not kept.
func TestKeepLog(t *testing.T) {
	t.Parallel()
	const removed, marked, givenUp = "000000010000000000000003", "000000010000000000000004", "000000010000000000000005"
	past := datadir.Lineage{Timeline: 2, Forks: []datadir.Fork{{Timeline: 1, End: 0x5000028}}}
	f := &Files{Report: func(what string) { t.Error(what) }, Pgdata: t.TempDir(), Kept: filepath.Join(t.TempDir(), "kept")}
	wal := filepath.Join(f.Pgdata, "pg_wal")
	status := filepath.Join(wal, "archive_status")
	write := func(path, content string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(status, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{removed, marked, givenUp} {
		write(filepath.Join(wal, name), name)
		write(filepath.Join(status, name+".ready"), "")
	}
	write(filepath.Join(status, "00000001000000000000000A.ready"), "") // its file is gone
	for range 2 {
		if err := f.Keep(past); err != nil {
			t.Fatal(err)
		}
	}
	// As pg_rewind does.
	if err := os.RemoveAll(status); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{removed, givenUp} {
		if err := os.Remove(filepath.Join(wal, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(status, 0o700); err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(status, marked+".done"), "")
	for range 2 {
		f.Return()
	}
	if got, err := f.Waiting(); err != nil || !slices.Equal(got, []string{removed, marked}) {
		t.Errorf("%v wait, %v", got, err)
	}
	if raw, err := os.ReadFile(filepath.Join(wal, removed)); err != nil || string(raw) != removed {
		t.Errorf("%q, %v", raw, err)
	}
	for _, gone := range []string{filepath.Join(status, marked+".done"), filepath.Join(wal, givenUp), f.Kept} {
		if _, err := os.Stat(gone); !os.IsNotExist(err) {
			t.Errorf("%s is there: %v", gone, err)
		}
	}
}
