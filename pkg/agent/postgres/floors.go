//go:build linux

package postgres

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
)

// floors are settings that a server in recovery must have at least as high as the server that wrote the log, by their
// names in the output of pg_controldata.
func floors() map[string]string {
	return map[string]string{
		"max_connections setting": "max_connections", "max_worker_processes setting": "max_worker_processes",
		"max_prepared_xacts setting": "max_prepared_transactions",
		"max_locks_per_xact setting": "max_locks_per_transaction",
	}
}

// defaults are the server's own values of the settings that have floors.
func defaults() map[string]int {
	return map[string]int{"max_connections": 100, "max_worker_processes": 8, "max_prepared_transactions": 0,
		"max_locks_per_transaction": 64}
}

// checkFloors refuses a change that lowers a setting below that with which the log was written. Every member starts as
// a replica, which needs at least that, so the lower value would never be in force.
func (s *Server) checkFloors(values map[string]string) error {
	if _, err := os.Stat(filepath.Join(s.pgdata(), "global", "pg_control")); errors.Is(err, fs.ErrNotExist) {
		return nil // this member has no data yet
	}
	raised, err := s.atLeast(nil)
	if err != nil {
		return err
	}
	s.mu.Lock()
	present := s.settings.Values
	s.mu.Unlock()
	return lowered(values, present, raised)
}

// lowered compares wanted values with the present ones, and with the floors.
func lowered(values, present, least map[string]string) error {
	standard := defaults()
	value := func(of map[string]string, name string) int {
		if set, err := strconv.Atoi(of[name]); err == nil {
			return set
		}
		return standard[name]
	}
	for _, name := range slices.Sorted(maps.Keys(standard)) {
		want, floor := value(values, name), value(least, name)
		if want < floor && want != value(present, name) {
			return api.Refused{Why: fmt.Sprintf("%s can't be lowered to %d: a replica would not start, because the log was "+
				"written with %d. Set it to %d or more", name, want, floor, floor)}
		}
	}
	return nil
}

// atLeast raises values to those with which the log was written: the server would not start with lower ones.
func (s *Server) atLeast(values map[string]string) (map[string]string, error) {
	out, err := exec.Command(s.program("pg_controldata"), s.pgdata()).Output() //nolint:gosec // the program is ours
	if err != nil {
		return nil, fmt.Errorf("read the settings with which the log was written: %w", err)
	}
	return raise(values, string(out)), nil
}

func raise(values map[string]string, controldata string) map[string]string {
	raised := maps.Clone(values)
	if raised == nil {
		raised = map[string]string{}
	}
	known := floors()
	for line := range strings.Lines(controldata) {
		key, value, _ := strings.Cut(line, ":")
		name, value := known[key], strings.TrimSpace(value)
		if name == "" {
			continue
		}
		floor, err1 := strconv.Atoi(value)
		set, err2 := strconv.Atoi(raised[name])
		if err1 == nil && (err2 != nil || set < floor) {
			raised[name] = value
		}
	}
	return raised
}
