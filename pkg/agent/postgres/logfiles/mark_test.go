//go:build linux

package logfiles

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
)

// TestArchiveCommand: it ends well for a file with a mark, and at once where the server stops.
func TestArchiveCommand(t *testing.T) {
	t.Parallel()
	f := &Files{Server: local.Server{Sockets: t.TempDir()}}
	if err := f.Reset(); err != nil {
		t.Fatal(err)
	}
	if err := f.mark("%f"); err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("sh", "-c", Command(f.Sockets)).Run(); err != nil {
		t.Errorf("with a mark: %v", err)
	}
	if err := os.Remove(filepath.Join(f.marks(), "%f")); err != nil {
		t.Fatal(err)
	}
	if err := f.StopArchiver(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	cmd := exec.Command("sh", "-c", Command(f.Sockets))
	if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() <= 125 || time.Since(began) > 5*time.Second {
		t.Errorf("of a server that stops it ends with %v after %s", err, time.Since(began))
	}
}
