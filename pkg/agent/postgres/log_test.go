//go:build linux

package postgres

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
)

// TestNewestCommit reads what pg_waldump says of commits, and of nothing else.
func TestNewestCommit(t *testing.T) {
	t.Parallel()
	const line = "rmgr: Transaction len (rec/tot):     34/    34, tx:        733, lsn: 0/0152F3E8, prev 0/0152F3A8, desc: "
	out := line + "COMMIT 2026-11-23 20:20:20.123456 UTC\n" +
		line + "COMMIT_PREPARED 733: 2026-11-23 20:20:22.5 UTC; dropped stats: 2/5/0\n" +
		line + "COMMIT 2026-11-23 20:20:21.000000 UTC; inval msgs: catcache 54\n" +
		line + "ABORT 2026-11-23 20:20:30.000000 UTC\n"
	if got, want := newestCommit(out), time.Date(2026, 11, 23, 20, 20, 22, 5e8, time.UTC); !got.Equal(want) {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := newestCommit("pg_waldump: error: nothing\n"); !got.IsZero() {
		t.Errorf("got %s", got)
	}
}

// TestArchiveCommand: it ends well for a file with a mark, and at once where the server stops.
func TestArchiveCommand(t *testing.T) {
	t.Parallel()
	c := Config{Server: local.Server{Sockets: t.TempDir()}}
	s := &Server{Config: c}
	if err := s.resetArchived(); err != nil {
		t.Fatal(err)
	}
	if err := s.markArchived("%f"); err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("sh", "-c", c.archiveCommand()).Run(); err != nil {
		t.Errorf("with a mark: %v", err)
	}
	if err := os.Remove(filepath.Join(c.archived(), "%f")); err != nil {
		t.Fatal(err)
	}
	if err := s.stopArchiver(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	cmd := exec.Command("sh", "-c", c.archiveCommand())
	if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() <= 125 || time.Since(began) > 5*time.Second {
		t.Errorf("of a server that stops it ends with %v after %s", err, time.Since(began))
	}
}

func TestLate(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		waits backlog
		want  bool
	}{
		"nothing waits":          {backlog{}, false},
		"some, for a moment":     {backlog{files: 16, since: time.Second}, false},
		"many, for a moment":     {backlog{files: 17, since: time.Second}, true},
		"one, for five minutes":  {backlog{files: 1, since: 5 * time.Minute}, false},
		"one, for a longer time": {backlog{files: 1, since: 5*time.Minute + time.Second}, true},
	} {
		if got := test.waits.late(); got != test.want {
			t.Errorf("%s: it is worth a warning: %t", name, got)
		}
	}
}
