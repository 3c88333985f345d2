//go:build linux

package postgres

import (
	"fmt"
	"maps"
	"math"
	"os/exec"
	"strconv"
	"strings"
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
		floor, ok := whole(value)
		set, is := whole(raised[name])
		if ok && (!is || set < floor) {
			raised[name] = value
		}
	}
	return raised
}

// whole reads a number as the server reads one of these settings: 256, 0x100, 0400 and 2.56e2 are the same (section
// 20.1.1 of the manual).
func whole(text string) (int64, bool) {
	text = strings.TrimSpace(text)
	if n, err := strconv.ParseInt(text, 0, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(text, 64)
	return int64(math.RoundToEven(f)), err == nil && math.Abs(f) < math.MaxInt32
}
