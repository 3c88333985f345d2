//go:build linux

package movein

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
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/source"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// CanFollow says why this server can't follow one that cut over from it, as api.Returner says.
func (s Server) CanFollow(ctx context.Context, from protocol.Source) error {
	ctx, stop := context.WithTimeout(ctx, askTime)
	defer stop()
	now, err := s.readMark(ctx)
	if err != nil {
		return err
	}
	m, err := s.New(ctx, from)
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
func (m *Move) enter(ctx context.Context) error {
	if !m.source.Kept || m.source.Login != nil {
		return nil
	}
	got, err := m.server.Once(ctx, "SELECT subconninfo FROM pg_subscription s JOIN pg_database d ON d.oid = subdbid "+
		"WHERE datname = current_database() AND subname = "+local.Literal(login))
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
func (m *Move) untouched(ctx context.Context, now mark) error {
	got, err := m.server.Once(ctx, source.Closed+"; SELECT datname FROM pg_database WHERE NOT datistemplate AND "+
		"datallowconn AND datname <> "+local.Literal(source.Maintenance))
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
func (m *Move) keeps(ctx context.Context, now mark) error {
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
func (m *Move) continues(ctx context.Context, now mark) error {
	confirmed, err := source.ParseLSN(now.Kept.Confirmed)
	if err != nil {
		return err
	}
	got, err := m.ask(ctx, source.Maintenance, "SELECT count(*) FILTER (WHERE wal_status IS DISTINCT FROM 'lost'), "+
		"max(confirmed_flush_lsn) FROM pg_replication_slots WHERE starts_with(slot_name, "+local.Literal(m.slot(now, ""))+")")
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
func (m *Move) roundBack(ctx context.Context, now mark) error {
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

func (m *Move) rolesChanged(now mark) bool {
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
func (m *Move) begin(ctx context.Context, now mark) error {
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
			"ALTER DATABASE %[1]s RESET default_transaction_read_only; ", local.Identifier(name), source.Marked)
	}
	if _, err := s.Once(ctx, "BEGIN; "+open.String()+"COMMIT"); err != nil {
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
