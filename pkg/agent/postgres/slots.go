//go:build linux

package postgres

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
)

// retained asks how much of the log the slots of people keep. Those of the agent are temporary.
const retained = `SELECT slot_name, active, coalesce(wal_status, ''), coalesce(pg_wal_lsn_diff(
 CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END, restart_lsn), 0)::bigint
FROM pg_replication_slots WHERE NOT temporary ORDER BY slot_name`

// muchRetained is which part of the volume a slot that nobody reads may keep before it is worth a warning.
const muchRetained = 10

// slot is one that people made.
type slot struct {
	name   string
	active bool
	// status is the server's word: reserved, extended, unreserved or lost.
	status string
	kept   int64
}

// slotsFrom reads the answer to retained.
func slotsFrom(rows [][]string) ([]slot, error) {
	var out []slot
	for _, row := range rows {
		kept, err := strconv.ParseInt(row[3], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("read what a slot keeps: %w", err)
		}
		out = append(out, slot{name: row[0], active: row[1] == "t", status: row[2], kept: kept})
	}
	return out, nil
}

// tellSlots tells what slots keep of a volume of that many bytes; 0 is not known.
func tellSlots(m *api.Measures, slots []slot, volume int64) {
	var all []string
	for _, s := range slots {
		kept := fmt.Sprintf("%dMi", s.kept>>20)
		all = append(all, s.name+" "+kept)
		drop := "SELECT pg_drop_replication_slot(" + local.Literal(s.name) + ")"
		warning := ""
		switch {
		case s.status == "lost":
			all[len(all)-1] = s.name + " lost"
			warning = fmt.Sprintf("the slot %q has lost the log that its reader needs, which must copy everything again; %s "+
				"takes it away", s.name, drop)
		case s.status == "unreserved":
			warning = fmt.Sprintf("the slot %q loses the log that its reader needs at the next checkpoint: it keeps %s, and "+
				"max_slot_wal_keep_size is less; have it read", s.name, kept)
		case !s.active && volume > 0 && s.kept > volume/muchRetained:
			warning = fmt.Sprintf("nobody reads the slot %q, and it keeps %s of the log, %d%% of the volume; have it read, or "+
				"%s lets the log go", s.name, kept, 100*s.kept/volume, drop)
		}
		if warning != "" {
			m.Warnings = append(m.Warnings, warning)
		}
	}
	if len(all) > 0 {
		m.Details = append(m.Details, api.Reading{Name: "slots", Value: strings.Join(all, ", ")})
	}
}
