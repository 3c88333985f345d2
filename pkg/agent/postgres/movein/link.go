//go:build linux

package movein

import (
	"context"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/source"
)

// link opens the door, and has the subscription of each database go by the one of this member. Nothing is confirmed to
// the source but what is here for sure.
func (m *Move) link(ctx context.Context, now mark) error {
	confirmed, err := source.ParseLSN(now.Kept.Confirmed)
	if err != nil {
		return err
	}
	got, err := m.ask(ctx, source.Maintenance, "SELECT datname, oid FROM pg_database")
	if err != nil {
		return err
	}
	if err := m.server.writeMark(ctx, now); err != nil { // the log may hold one that no standby has
		return err
	}
	m.server.Door.Open(m.source)
	m.server.Door.Allow(confirmed)
	m.reads = nil
	for _, row := range got[0] {
		if _, followed := now.Schemas[row[0]]; !followed {
			continue
		}
		slot := m.slot(now, row[1])
		if err := m.resubscribe(ctx, now, row[0], slot); err != nil {
			return fmt.Errorf("subscribe to the database %q of %s: %w", row[0], m.source.Address, err)
		}
		m.reads = append(m.reads, slot)
	}
	m.linked = true
	return nil
}

// resubscribe makes the subscription of a database, or has it go by the door of this member. It begins where the source
// cut over: a slot of the source itself may go back to before that if its server crashes.
func (m *Move) resubscribe(ctx context.Context, now mark, database, slot string) error {
	s := m.server
	way := local.Literal(s.Conninfo(local.SourcePort, "dbname="+local.Value(database)))
	const find = "SELECT oid, subslotname, subenabled, " +
		"coalesce(pg_replication_origin_progress('pg_' || oid, false), '0/0') " +
		"FROM pg_subscription WHERE subname = '" + subscription + "' AND subdbid = (SELECT oid FROM pg_database " +
		"WHERE datname = current_database())"
	got, err := s.OnceIn(ctx, database, find)
	if err != nil {
		return err
	}
	if len(got[0]) == 1 && got[0][0][1] != slot {
		if err := s.unsubscribeIn(ctx, database); err != nil {
			return err
		}
		got[0] = nil
	}
	if len(got[0]) == 0 {
		more := ""
		if s.Major >= 16 {
			more = ", run_as_owner = true"
		}
		// Rows that the source got by a subscription of its own come along, as origin = any is the default: this cluster
		// subscribes to nothing else, and what came from here ended before the cut over.
		if _, err := s.OnceIn(ctx, database, "CREATE SUBSCRIPTION "+subscription+" CONNECTION "+way+" PUBLICATION "+
			local.Identifier(m.publication())+" WITH (slot_name = "+local.Literal(slot)+", create_slot = false, "+
			"copy_data = false, enabled = false, synchronous_commit = 'off'"+more+")"); err != nil {
			return err
		}
		if got, err = s.OnceIn(ctx, database, find); err != nil {
			return err
		}
	} else if _, err := s.OnceIn(ctx, database, "ALTER SUBSCRIPTION "+subscription+" CONNECTION "+way); err != nil {
		return err
	}
	row := got[0][0]
	if row[2] == "t" {
		return nil
	}
	if row[3] == "0/0" {
		if _, err := s.OnceIn(ctx, database, "SELECT pg_replication_origin_advance('pg_"+row[0]+"', "+
			local.Literal(now.Kept.From)+")"); err != nil {
			return err
		}
	}
	_, err = s.OnceIn(ctx, database, "ALTER SUBSCRIPTION "+subscription+" ENABLE")
	return err
}

// confirm has standbys hold what was applied here, notes that, and then tells the source. So a next primary either has
// all that the source was told of, or sees in its mark that it may not.
func (m *Move) confirm(ctx context.Context, now mark) error {
	if now.Kept == nil {
		return nil
	}
	before, err := source.ParseLSN(now.Kept.Confirmed)
	to := m.server.Door.Flushed(m.reads)
	if err != nil || to <= before {
		return err
	}
	now.Kept.Confirmed = to.String()
	if err := m.server.writeMark(ctx, now); err != nil {
		now.Kept.Confirmed = before.String()
		return err
	}
	m.server.Door.Allow(to)
	return nil
}
