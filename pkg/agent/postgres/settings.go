//go:build linux

package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/floors"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/process"
)

// loaded is when the server read its files last.
func (s *Server) loaded(ctx context.Context) (string, error) {
	got, err := s.Once(ctx, "SELECT pg_conf_load_time()")
	if err != nil {
		return "", err
	}
	return got[0][0][0], nil
}

// learnPending waits until the server has read its files again, and keeps which settings it takes only at a start.
func (s *Server) learnPending(ctx context.Context, p *process.Process, before string) error {
	return p.Until(ctx, "wait until the server has read its settings", func(ctx context.Context) (bool, error) {
		got, err := s.Once(ctx, "SELECT pg_conf_load_time(); SELECT name FROM pg_settings WHERE pending_restart ORDER BY 1")
		if err != nil || got[0][0][0] == before {
			return false, err
		}
		var names []string
		for _, row := range got[1] {
			names = append(names, row[0])
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.pending = names
		return true, nil
	})
}

// setReloading notes that the server's files hold settings that it may not have read yet.
func (s *Server) setReloading(yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reloading = yes
}

// Pending implements api.Tuner.
func (s *Server) Pending() (start, held []string) {
	start, held = s.late()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return nil, nil // what its next start brings depends on the log that it reads
	}
	start = append(start, s.pending...)
	slices.Sort(start)
	return slices.Compact(start), held
}

// CheckValues has the server's program read settings, without starting a server. A Refused says what is wrong.
func (s *Server) CheckValues(ctx context.Context, values map[string]string) error {
	kept := s.keptSettings()
	dir, err := os.MkdirTemp(s.Sockets, "check")
	if err != nil {
		return fmt.Errorf("check settings: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is empty, and in memory
	empty := filepath.Join(dir, "postgresql.conf")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		return fmt.Errorf("check settings: %w", err)
	}
	given := []string{"-c", "config_file=" + empty}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		// The program takes capitals and dashes for the same. The file takes no dash.
		switch spelled := strings.ReplaceAll(strings.ToLower(name), "-", "_"); {
		case slices.Contains(kept, spelled):
			return api.Refused{Why: fmt.Sprintf("the setting %s belongs to the agent", spelled)}
		case spelled != name:
			return api.Refused{Why: fmt.Sprintf("the setting %q is written %s", name, spelled)}
		}
		given = append(given, "-c", name+"="+values[name])
	}
	args := append([]string{"-D", dir, "-C", "port"}, given...)
	out, err := exec.CommandContext(ctx, s.Program("postgres"), args...).CombinedOutput() //nolint:gosec // the program is ours
	if _, ran := errors.AsType[*exec.ExitError](err); ran {
		return api.Refused{Why: "PostgreSQL refuses the settings: " + reason(string(out))}
	}
	if err != nil {
		return fmt.Errorf("check settings: %w", err)
	}
	if err := checkLevel(values); err != nil {
		return err
	}
	if err := floors.CheckConnections(values); err != nil {
		return api.Refused{Why: err.Error()}
	}
	return s.checkStart(ctx, dir, given)
}

// reason is what the program said, without the marks of its log.
func reason(out string) string {
	var lines []string
	for line := range strings.Lines(out) {
		for _, mark := range []string{"FATAL:", "ERROR:", "HINT:", "DETAIL:"} {
			if _, said, ok := strings.Cut(line, mark); ok {
				lines = append(lines, strings.TrimSpace(said))
			}
		}
	}
	if len(lines) == 0 {
		return strings.TrimSpace(out)
	}
	return strings.Join(lines, "; ")
}
