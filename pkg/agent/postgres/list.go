//go:build linux

package postgres

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
)

// ListSettings implements api.SettingLister. Names are written as CheckValues takes them, and what this very session
// set does not count.
func (s *Server) ListSettings(ctx context.Context) ([]api.Setting, error) {
	got, err := s.Once(ctx, `SELECT lower(name), vartype, unit,
 CASE WHEN source IN ('client', 'session') THEN boot_val ELSE setting END, boot_val, min_val, max_val,
 array_to_string(enumvals, ', '), context = 'postmaster', source NOT IN ('default', 'override', 'client', 'session'),
 coalesce(sourcefile LIKE '%/postgresql.auto.conf', false)
 FROM pg_settings WHERE context <> 'internal' ORDER BY lower(name) COLLATE "C"`)
	if err != nil {
		return nil, err
	}
	kept := s.keptSettings()
	all := make([]api.Setting, 0, len(got[0]))
	for _, row := range got[0] {
		unit := row[2]
		one := api.Setting{Name: row[0], Kind: row[1], Default: pretty(row[4], unit), Value: pretty(row[3], unit),
			Allowed: row[7], AtStart: row[8] == "t", Given: row[9] == "t",
			Overridden: row[10] == "t"}
		switch {
		case slices.Contains(kept, one.Name):
			one.Kept, one.Value = true, ""
		case one.Kind == "bool":
			one.Allowed = "on or off"
		case row[5] != "":
			one.Allowed = pretty(row[5], unit) + " to " + pretty(row[6], unit)
		}
		all = append(all, one)
	}
	return all, nil
}

// pretty writes a number of units as the server does: in the largest unit of which it is a whole number. -1 and 0 have
// no unit, as they have a meaning of their own.
func pretty(value, unit string) string {
	if unit == "" || value == "" || value == "0" || value == "-1" {
		return value
	}
	count, name := 1, strings.TrimLeft(unit, "0123456789")
	if name != unit {
		count, _ = strconv.Atoi(strings.TrimSuffix(unit, name)) // digits
	}
	n, err := strconv.Atoi(value)
	if err != nil {
		return value + unit // it has a fraction
	}
	n *= count
	for _, larger := range []struct {
		from, to string
		times    int
	}{
		{"B", "kB", 1024}, {"kB", "MB", 1024}, {"MB", "GB", 1024}, {"GB", "TB", 1024},
		{"us", "ms", 1000}, {"ms", "s", 1000}, {"s", "min", 60}, {"min", "h", 60}, {"h", "d", 24},
	} {
		if larger.from == name && n%larger.times == 0 {
			n, name = n/larger.times, larger.to
		}
	}
	return strconv.Itoa(n) + name
}
