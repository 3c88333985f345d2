//go:build linux

package movein

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/source"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/volume"
)

// login is a subscription that is never enabled, in the maintenance database of a cluster that may follow the one that
// cut over from it: its connection says how it logs in there. Only superusers can read that.
const login = "dbop_back"

// Ways is a pattern: how the roles, publications and slots begin that a server keeps for those that may follow it.
const Ways = "^dbop_[0-9]+"

// logical is the level of the log with which a server can be followed so.
const logical = "logical"

// wayBack is what a primary that cuts over prepares for its source, which may follow it from there on.
type wayBack struct {
	// name is that of the publications and of the role, and how the names of slots begin.
	name string
	mark mark
}

// prepareBack makes what the source needs to follow this server later, while both go on. What was made for an earlier
// request goes first. The slots keep the log from now on: that is more than the source will need.
func (m *Move) prepareBack(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, askTime)
	defer stop()
	m.way = nil
	if err := m.server.EndBack(ctx); err != nil {
		return err
	}
	system, err := m.checkBack(ctx)
	if err != nil {
		return err
	}
	s, w := m.server, &wayBack{name: "dbop_" + system}
	m.way = w
	w.mark = mark{Stage: stageBack, Copy: volume.NewName(4), Schemas: map[string]map[string]string{}, Kept: &kept{}}
	password := rand.Text()
	verifier, err := local.NewVerifier(password)
	if err != nil {
		return err
	}
	err = s.Execute(ctx, "make the role of the source", []string{"CREATE ROLE " + local.Identifier(w.name) +
		" LOGIN SUPERUSER REPLICATION PASSWORD " + local.Literal(verifier)})
	if err != nil {
		return err
	}
	for _, d := range m.survey.Databases {
		tables := ""
		if len(d.Tables) > 0 {
			tables = " FOR TABLE ONLY " + strings.Join(d.Tables, ", ONLY ")
		}
		// One of that name is left where this server was a source itself, and that cluster followed it.
		got, err := s.OnceIn(ctx, d.Name, "DROP PUBLICATION IF EXISTS "+local.Identifier(w.name)+"; CREATE PUBLICATION "+
			local.Identifier(w.name)+tables+"; SELECT oid FROM pg_database WHERE datname = current_database()")
		if err != nil {
			return fmt.Errorf("prepare the way back of the database %q: %w", d.Name, err)
		}
		if _, err = s.OnceIn(ctx, d.Name, "SELECT pg_create_logical_replication_slot("+
			local.Literal(w.name+"_"+w.mark.Copy+"_"+got[2][0][0])+", 'pgoutput')"); err != nil {
			return fmt.Errorf("prepare the way back of the database %q: a transaction of before may be open: %w", d.Name, err)
		}
	}
	return m.leaveLogin(ctx, w.name, password)
}

// checkBack refuses what would fail later, and returns the system identifier of the source.
func (m *Move) checkBack(ctx context.Context) (system string, err error) {
	there, err := m.ask(ctx, source.Maintenance, "SELECT system_identifier, EXISTS (SELECT FROM pg_roles WHERE rolname = "+
		local.Literal(local.User)+"), least(current_setting('max_logical_replication_workers')::int, "+
		"current_setting('max_worker_processes')::int - 1), "+
		"coalesce(current_setting('max_active_replication_origins', true), current_setting('max_replication_slots'))::int "+
		"- (SELECT count(*) FROM pg_replication_origin_status) FROM pg_control_system()")
	if err != nil {
		return "", err
	}
	here, err := m.server.Once(ctx, "SELECT current_setting('wal_level'), "+
		"current_setting('max_replication_slots')::int - (SELECT count(*) FROM pg_replication_slots), "+
		"current_setting('max_wal_senders')::int - "+
		"(SELECT count(*) FROM pg_stat_replication)")
	if err != nil {
		return "", err
	}
	number := func(text string) int {
		n, _ := strconv.Atoi(text) // it is one
		return n
	}
	need := len(m.survey.Databases)
	var why []string
	unless := func(fits bool, format string, args ...any) {
		if !fits {
			why = append(why, fmt.Sprintf(format, args...))
		}
	}
	at := m.source.Address
	unless(there[0][0][1] == "t", "no agent runs %s, and only a cluster of agents can follow this one", at)
	unless(number(there[0][0][2]) >= need, "%s follows %s databases at once, and there are %d: raise "+
		"max_logical_replication_workers there", at, there[0][0][2], need)
	unless(number(there[0][0][3]) >= need, "%s has room for %s more databases that it follows, and there are %d: raise "+
		"max_replication_slots there", at, there[0][0][3], need)
	unless(here[0][0][0] == logical, "wal_level of this cluster is %s: set it to %s, and restart it", here[0][0][0],
		logical)
	unless(number(here[0][0][1]) >= need, "%s slots are free in this cluster, and %d are needed: raise "+
		"max_replication_slots", here[0][0][1], need)
	unless(number(here[0][0][2]) >= need, "%s senders are free in this cluster, and %d are needed", here[0][0][2], need)
	if len(why) > 0 {
		return "", api.NoBack{Why: strings.Join(why, "; ")}
	}
	return there[0][0][0], nil
}

// secretly keeps the text of statements from the log, from what shows running statements, and from what counts them,
// where that is loaded.
const secretly = "SET log_statement = none; SET log_min_duration_statement = -1; " +
	"SET log_min_error_statement = panic; SET track_activities = off; SET pg_stat_statements.track = none"

// leaveLogin writes at the source how it logs in here. It tells nobody else.
func (m *Move) leaveLogin(ctx context.Context, name, password string) error {
	c, err := m.source.Open(ctx, source.Maintenance)
	if err != nil {
		return err
	}
	defer c.Close()
	conninfo := "user=" + local.Value(name) + " password=" + local.Value(password)
	for _, statements := range []string{
		secretly,
		"DROP SUBSCRIPTION IF EXISTS " + login,
		"CREATE SUBSCRIPTION " + login + " CONNECTION " + local.Literal(conninfo) + " PUBLICATION " + local.Identifier(name) +
			" WITH (connect = false, slot_name = NONE)",
	} {
		if _, err := c.Ask(ctx, statements); err != nil {
			return fmt.Errorf("note how it logs in here: %w", err)
		}
	}
	return nil
}

// leaveBack notes at the source, as nobody writes there or here, from where on it can follow.
func (m *Move) leaveBack(ctx context.Context, f *source.Fence) error {
	w := m.way
	got, err := m.server.Once(ctx, "SELECT system_identifier, pg_current_wal_flush_lsn() FROM pg_control_system()")
	if err != nil {
		return err
	}
	w.mark.Kept.System, w.mark.Kept.From = got[0][0][0], got[0][0][1]
	w.mark.Kept.Confirmed = w.mark.Kept.From
	for _, d := range m.survey.Databases {
		sums, err := m.server.OnceIn(ctx, d.Name, source.Definitions)
		if err != nil {
			return err
		}
		w.mark.Schemas[d.Name] = source.Sums(sums[0])
	}
	if w.mark.Kept.Closed, err = f.Identify(ctx); err != nil {
		return err
	}
	raw, err := json.Marshal(w.mark)
	if err != nil {
		return fmt.Errorf("note from where on the source can follow: %w", err)
	}
	return f.Note(ctx, local.User, string(raw))
}

// backLate prepares the way back when an earlier request, which asked for none, has closed the source.
func (m *Move) backLate(ctx context.Context, back bool) error {
	if !back || m.way != nil {
		return nil
	}
	if err := m.prepareBack(ctx); err != nil {
		return errors.Join(err, m.dropBack(ctx))
	}
	f, err := m.source.Approach(ctx, m.own, m.survey.Databases)
	if err != nil {
		return err
	}
	defer f.Leave()
	if err := m.leaveBack(ctx, f); err != nil {
		return errors.Join(err, m.dropBack(ctx))
	}
	return nil
}

// dropBack takes back what was prepared for a cut over that did not come.
func (m *Move) dropBack(ctx context.Context) error {
	m.way = nil
	return m.server.EndBack(context.WithoutCancel(ctx))
}

// EndBack drops what was made for those that may follow this server, as api.Returner says.
func (s Server) EndBack(ctx context.Context) error {
	got, err := s.Once(ctx, "SELECT rolname FROM pg_roles WHERE rolname ~ "+local.Literal(Ways+"$")+
		"; SELECT datname FROM pg_database WHERE datallowconn AND datconnlimit <> -2 AND NOT datistemplate")
	if err != nil {
		return err
	}
	for _, role := range got[0] {
		if err := s.endWay(ctx, role[0], got[1]); err != nil {
			return fmt.Errorf("end the way back of %s: %w", role[0], err)
		}
	}
	return nil
}

// endWay drops what was made for one source. The role goes last: by it the rest is found.
func (s Server) endWay(ctx context.Context, name string, databases [][]string) error {
	if err := s.dropWaySlots(ctx, name); err != nil {
		return err
	}
	for _, d := range databases {
		if _, err := s.OnceIn(ctx, d[0], "DROP PUBLICATION IF EXISTS "+local.Identifier(name)); err != nil {
			return err
		}
	}
	_, err := s.Once(ctx, "DROP ROLE IF EXISTS "+local.Identifier(name))
	return err
}

func (s Server) dropWaySlots(ctx context.Context, name string) error {
	ctx, stop := context.WithTimeout(ctx, askTime)
	defer stop()
	for {
		mine := "starts_with(slot_name, " + local.Literal(name+"_") + ")"
		got, err := s.Once(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = "+local.Literal(name)+
			"; SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE NOT active AND "+mine+
			"; SELECT FROM pg_replication_slots WHERE "+mine)
		if err == nil && len(got[2]) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(errors.New("its slots are in use"), err)
		case <-time.After(copyPoll / 10):
		}
	}
}
