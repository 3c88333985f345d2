package postgres

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// TestSupply runs restore_command as a server does.
func TestSupply(t *testing.T) {
	t.Parallel()
	away := errors.New("the store is away")
	directory := t.TempDir()
	data := filepath.Join(directory, "pgdata")
	if err := os.MkdirAll(filepath.Join(data, "pg_wal"), 0o700); err != nil {
		t.Fatal(err)
	}
	const own = "00000002.history"
	if err := os.WriteFile(filepath.Join(data, "pg_wal", own), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var read []string
	s, err := startSupply(t.Context(), directory, engine.ForwardTo{Scratch: t.TempDir(),
		Log: []engine.LogFile{{Timeline: "1", Name: "there"}, {Timeline: "1", Name: "later"}, {Timeline: "2", Name: "away"}},
		Read: func(_ context.Context, name string) ([]byte, error) {
			read = append(read, name)
			switch name {
			case "there":
				return []byte(name), nil
			case "later":
				if len(read) == 2 {
					return nil, away // and there again when it is asked for
				}
				return []byte(name), nil
			case "away":
				return nil, away
			}
			return nil, engine.ErrNoLogFile
		}})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(name, path string) int {
		t.Helper()
		command := strings.NewReplacer("%f", name, "%p", path).Replace(s.command())
		cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
		if err := cmd.Run(); cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode()
	}
	for range 2 {
		for _, name := range []string{"there", "later"} {
			if code := ask(name, "file"); code != 0 {
				t.Errorf("a file that is there: exit code %d", code)
			}
			content, err := os.ReadFile(filepath.Join(data, "file"))
			if err != nil || string(content) != name {
				t.Errorf("got %q, %v", content, err)
			}
		}
		if code := ask("missing", "file"); code != missing {
			t.Errorf("a file that the archive has not: exit code %d", code)
		}
	}
	if code := ask(own, "file"); code != missing {
		t.Errorf("a history that came with the backup: exit code %d", code)
	}
	if code := ask("there", "../file"); code != broken {
		t.Errorf("a path outside of the data: exit code %d", code)
	}
	if code := ask("away", "file"); code != broken {
		t.Errorf("a file that can't be read: exit code %d", code)
	}
	// A command that was ended before it read its answer leaves that to the next one.
	if _, err := s.asked.WriteString("1 missing file\n"); err != nil {
		t.Fatal(err)
	}
	if code := ask("there", "file"); code != broken {
		t.Errorf("the answer to another command: exit code %d", code)
	}
	if err := s.stop(); !errors.Is(err, away) {
		t.Errorf("it ended with %v", err)
	}
	// What follows in the log is read with the file before it, and once more only if that failed.
	want := []string{"there", "later", "later", "missing", "there", "later", "missing"}
	if got := read[:min(len(read), len(want))]; !slices.Equal(got, want) {
		t.Errorf("it read %v, want %v", got, want)
	}
	if _, err := os.Stat(s.ahead); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was written ahead is left: %v", err)
	}
}
