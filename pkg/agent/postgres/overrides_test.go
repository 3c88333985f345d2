//go:build linux

package postgres

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// TestOverrides: what ALTER SYSTEM wrote is told, gives way to what the members agree on, and is taken back when that
// is asked for, also of a replica.
func TestOverrides(t *testing.T) {
	t.Parallel()
	_, m1, m2 := pair(t)
	for _, m := range []*place{m1, m2} {
		told := func(want ...string) {
			t.Helper()
			got, err := m.Measure(t.Context())
			if diff := cmp.Diff(want, got.Overridden); err != nil || diff != "" {
				t.Errorf("%s: %v, %s", m.ID, err, diff)
			}
		}
		told()
		m.sql("ALTER SYSTEM SET work_mem = '77MB'")
		m.sql("ALTER SYSTEM SET fsync = off")
		m.sql("ALTER SYSTEM SET statement_timeout = '5s'")
		told("fsync", "statement_timeout", "work_mem")
		settings := protocol.Settings{Version: 7, Values: map[string]string{"work_mem": "9MB"}}
		if err := m.reload(t.Context(), settings); err != nil {
			t.Fatal(err)
		}
		told("statement_timeout")
		if got := m.sql("SHOW work_mem") + " " + m.sql("SHOW statement_timeout"); got != "9MB 5s" {
			t.Errorf("%s: work_mem and statement_timeout are %s", m.ID, got)
		}
		for range 2 {
			if err := m.TakeBack(t.Context()); err != nil {
				t.Fatal(err)
			}
			told()
			if got := m.sql("SHOW work_mem") + " " + m.sql("SHOW statement_timeout"); got != "9MB 0" {
				t.Errorf("%s: work_mem and statement_timeout are %s", m.ID, got)
			}
		}
	}
}

// TestStripAuto: the server takes a name in capitals, and without a space, too.
func TestStripAuto(t *testing.T) {
	t.Parallel()
	s := &Server{Config: Config{Directory: t.TempDir(), Report: func(string) {}}}
	if err := os.MkdirAll(s.pgdata(), 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(s.pgdata(), autoFile)
	const kept = "# a remark\nstatement_timeout = '5s'\n"
	if err := os.WriteFile(path, []byte("Synchronous_Standby_Names = ''\nfsync='off'\nfsync\t= 'off'\nWORK_MEM = '7MB'\n"+
		kept), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.stripAuto([]string{synchronous, "fsync"}, map[string]string{"work_mem": "9MB"}); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadFile(path)
	if diff := cmp.Diff(kept, string(left)); err != nil || diff != "" {
		t.Errorf("%v, %s", err, diff)
	}
}
