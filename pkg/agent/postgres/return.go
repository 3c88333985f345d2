//go:build linux

package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/source"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// CanFollow implements api.Returner.
func (s *Server) CanFollow(ctx context.Context, from protocol.Source) error {
	ctx, stop := context.WithTimeout(ctx, askTime)
	defer stop()
	now, err := s.readMark(ctx)
	if err != nil {
		return err
	}
	m, err := s.newMoveIn(ctx, from)
	if err != nil {
		return err
	}
	if now.Stage != stageBack || now.Kept == nil {
		return api.NoBack{Why: "no cut over from this cluster prepared one"}
	}
	if err := m.enter(ctx); err != nil {
		return err
	}
	if err := m.untouched(ctx, now); err != nil {
		return err
	}
	return m.keeps(ctx, now)
}

// enter reads how to log in at a source that is kept.
func (m *moveIn) enter(ctx context.Context) error {
	if !m.source.Kept || m.source.Login != nil {
		return nil
	}
	got, err := m.server.once(ctx, "SELECT subconninfo FROM pg_subscription s JOIN pg_database d ON d.oid = subdbid "+
		"WHERE datname = current_database() AND subname = "+literal(login))
	if err != nil {
		return err
	}
	if len(got[0]) == 0 {
		return api.NoBack{Why: "nothing here says how to log in at " + m.source.Address +
			": the cut over from this cluster prepared no way back, or none was done"}
	}
	config, err := pgconn.ParseConfig(got[0][0][0])
	if err != nil {
		return fmt.Errorf("read how to log in at %s: %w", m.source.Address, err)
	}
	m.source.Login = &source.Login{User: config.User, Password: config.Password, Authority: m.server.Authority}
	return nil
}

// untouched says that the databases are as they were closed for the source: nobody was let in since, so nobody wrote.
func (m *moveIn) untouched(ctx context.Context, now mark) error {
	got, err := m.server.once(ctx, source.Closed+"; SELECT datname FROM pg_database WHERE NOT datistemplate AND "+
		"datallowconn AND datname <> "+literal(source.Maintenance))
	if err != nil {
		return err
	}
	if len(got[1]) > 0 {
		return api.NoBack{Why: fmt.Sprintf("the database %q of this cluster is open, and somebody may have written there "+
			"since the cut over", got[1][0][0])}
	}
	closed := map[string]string{}
	for _, row := range got[0] {
		closed[row[0]] = row[1]
	}
	for _, name := range slices.Sorted(maps.Keys(now.Schemas)) {
		if then := now.Kept.Closed[name]; then == "" || closed[name] != then {
			return api.NoBack{Why: fmt.Sprintf("somebody changed the database %q of this cluster since the cut over closed it, "+
				"and may have written there", name)}
		}
	}
	return nil
}

// keeps says that the source is the one that this cluster can follow, and keeps what comes next.
func (m *moveIn) keeps(ctx context.Context, now mark) error {
	got, err := m.ask(ctx, source.Maintenance, "SELECT system_identifier, pg_is_in_recovery() FROM pg_control_system()")
	switch {
	case err != nil:
		return err
	case got[0][0][0] != now.Kept.System:
		return api.NoBack{Why: m.source.Address + " is not the cluster that cut over from this one"}
	case got[0][0][1] == "t":
		return fmt.Errorf("%s leads to a replica, and its primary is to be followed", m.source.Address)
	}
	if err := m.continues(ctx, now); err != nil {
		return err
	}
	if err := m.observe(ctx); err != nil {
		return err
	}
	if err := m.differs(now, m.survey); err != nil {
		return api.NoBack{Why: err.Error()}
	}
	if len(m.survey.Unfit) > 0 {
		return api.NoBack{Why: unfitError(m.survey.Unfit).Error()}
	}
	return nil
}

// continues says that the source has a slot for each database that keeps all that this server does not have for sure.
func (m *moveIn) continues(ctx context.Context, now mark) error {
	confirmed, err := source.ParseLSN(now.Kept.Confirmed)
	if err != nil {
		return err
	}
	got, err := m.ask(ctx, source.Maintenance, "SELECT count(*) FILTER (WHERE wal_status IS DISTINCT FROM 'lost'), "+
		"max(confirmed_flush_lsn) FROM pg_replication_slots WHERE starts_with(slot_name, "+literal(m.slot(now, ""))+")")
	if err != nil {
		return err
	}
	if got[0][0][0] != strconv.Itoa(len(now.Schemas)) {
		return api.NoBack{Why: fmt.Sprintf("%s does not keep any more what comes next: its primary changed since, it ended "+
			"the way back, or its log took too much room; what this cluster lacks can't come", m.source.Address)}
	}
	if len(now.Schemas) == 0 {
		return nil
	}
	reached, err := source.ParseLSN(got[0][0][1])
	if err == nil && reached > confirmed {
		err = api.NoBack{Why: fmt.Sprintf("a primary of this cluster said to %s that all up to %s is here, and this one has "+
			"it for sure only up to %s: rows may be missing", m.source.Address, reached, confirmed)}
	}
	return err
}

// roundBack does what comes next for a source that is kept.
func (m *moveIn) roundBack(ctx context.Context, now mark) error {
	ctx, stop := context.WithTimeout(ctx, askTime)
	defer stop()
	if now.Kept == nil {
		return unfitError{"nothing here says from where on: no cut over from this cluster prepared a way back"}
	}
	if !m.linked {
		m.tell(func(t *api.Source) { t.Following, t.Linked = true, false }) // no copy is under way
	}
	if now.Stage != stageFollows {
		return m.begin(ctx, now)
	}
	if !m.linked {
		if err := m.continues(ctx, now); err != nil {
			return noReturn(err)
		}
		if err := m.link(ctx, now); err != nil {
			return err
		}
	}
	if err := m.confirm(ctx, now); err != nil {
		return err
	}
	err := m.follow(ctx, now)
	m.tell(func(t *api.Source) {
		if m.rolesChanged(now) && !slices.Contains(t.Left, leftRoles) {
			t.Left = append(t.Left, leftRoles)
		}
	})
	return noReturn(err)
}

// leftRoles is what the way back leaves out: who manages users makes them in both clusters.
const leftRoles = "what was changed about roles and passwords since the cut over"

func (m *moveIn) rolesChanged(now mark) bool {
	return slices.ContainsFunc(m.survey.Databases, func(d source.Database) bool {
		return slices.Contains(source.Changed(now.Schemas[d.Name], d.Schema), "roles")
	})
}

// noReturn has a person know what will not pass.
func noReturn(err error) error {
	if none, is := errors.AsType[api.NoBack](err); is {
		return unfitError{none.Why}
	}
	return err
}

// begin opens the databases, where nobody but the agent is let in, and subscribes to those of the source. The mark that
// this follows comes last. What an earlier attempt did stays.
func (m *moveIn) begin(ctx context.Context, now mark) error {
	s := m.server
	if now.Stage == stageBack {
		if err := m.untouched(ctx, now); err != nil {
			return noReturn(err)
		}
		if err := m.keeps(ctx, now); err != nil {
			return noReturn(err)
		}
		now.Stage, now.Address = stageOpens, m.source.Address
		if err := s.writeMark(ctx, now); err != nil {
			return err
		}
	}
	if now.Stage != stageOpens {
		return unfitError{"nothing here says from where on: the mark of this cluster is " + now.Stage}
	}
	var open strings.Builder
	for _, name := range slices.Sorted(maps.Keys(now.Schemas)) {
		fmt.Fprintf(&open, "ALTER DATABASE %[1]s ALLOW_CONNECTIONS true; ALTER DATABASE %[1]s RESET %[2]s; "+
			"ALTER DATABASE %[1]s RESET default_transaction_read_only; ", quoteName(name), source.Marked)
	}
	if _, err := s.once(ctx, "BEGIN; "+open.String()+"COMMIT"); err != nil {
		return fmt.Errorf("open the databases of this cluster, for what comes from %s: %w", m.source.Address, err)
	}
	if err := m.continues(ctx, now); err != nil {
		return noReturn(err)
	}
	if err := m.link(ctx, now); err != nil {
		return err
	}
	now.Stage = stageFollows
	if err := s.writeMark(ctx, now); err != nil {
		return err
	}
	s.Report("this cluster follows " + m.source.Address + " from where that cut over")
	return nil
}

// link opens the door, and has the subscription of each database go by the one of this member. Nothing is confirmed to
// the source but what is here for sure.
func (m *moveIn) link(ctx context.Context, now mark) error {
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
	m.server.door.Open(m.source)
	m.server.door.Allow(confirmed)
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
func (m *moveIn) resubscribe(ctx context.Context, now mark, database, slot string) error {
	s := m.server
	way := literal(s.conninfo(sourcePort, "dbname="+word(database)))
	const find = "SELECT oid, subslotname, subenabled, " +
		"coalesce(pg_replication_origin_progress('pg_' || oid, false), '0/0') " +
		"FROM pg_subscription WHERE subname = '" + subscription + "' AND subdbid = (SELECT oid FROM pg_database " +
		"WHERE datname = current_database())"
	got, err := s.onceIn(ctx, database, find)
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
		if s.major >= 16 {
			more = ", run_as_owner = true"
		}
		// Rows that the source got by a subscription of its own come along, as origin = any is the default: this cluster
		// subscribes to nothing else, and what came from here ended before the cut over.
		if _, err := s.onceIn(ctx, database, "CREATE SUBSCRIPTION "+subscription+" CONNECTION "+way+" PUBLICATION "+
			quoteName(m.publication())+" WITH (slot_name = "+literal(slot)+", create_slot = false, copy_data = false, "+
			"enabled = false, synchronous_commit = 'off'"+more+")"); err != nil {
			return err
		}
		if got, err = s.onceIn(ctx, database, find); err != nil {
			return err
		}
	} else if _, err := s.onceIn(ctx, database, "ALTER SUBSCRIPTION "+subscription+" CONNECTION "+way); err != nil {
		return err
	}
	row := got[0][0]
	if row[2] == "t" {
		return nil
	}
	if row[3] == "0/0" {
		if _, err := s.onceIn(ctx, database, "SELECT pg_replication_origin_advance('pg_"+row[0]+"', "+
			literal(now.Kept.From)+")"); err != nil {
			return err
		}
	}
	_, err = s.onceIn(ctx, database, "ALTER SUBSCRIPTION "+subscription+" ENABLE")
	return err
}

// confirm has standbys hold what was applied here, notes that, and then tells the source. So a next primary either has
// all that the source was told of, or sees in its mark that it may not.
func (m *moveIn) confirm(ctx context.Context, now mark) error {
	if now.Kept == nil {
		return nil
	}
	before, err := source.ParseLSN(now.Kept.Confirmed)
	to := m.server.door.Flushed(m.reads)
	if err != nil || to <= before {
		return err
	}
	now.Kept.Confirmed = to.String()
	if err := m.server.writeMark(ctx, now); err != nil {
		now.Kept.Confirmed = before.String()
		return err
	}
	m.server.door.Allow(to)
	return nil
}

// newMoveIn is the part of this server in following a source, which has not started.
func (s *Server) newMoveIn(ctx context.Context, of protocol.Source) (*moveIn, error) {
	got, err := s.once(ctx, "SELECT system_identifier FROM pg_control_system()")
	if err != nil {
		return nil, fmt.Errorf("follow %s: %w", of.Address, err)
	}
	return &moveIn{server: s, busy: make(chan struct{}, 1), source: source.Source{Source: of, Secret: s.SourceSecret},
		own: "dbop_" + got[0][0][0] + "_", ended: make(chan struct{}), told: api.Source{Address: of.Address}}, nil
}
