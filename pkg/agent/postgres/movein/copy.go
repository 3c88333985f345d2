//go:build linux

package movein

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/source"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/volume"
)

// copyPoll is the time between two questions how far a copy is.
const copyPoll = 500 * time.Millisecond

// copy makes the databases of the source here again: roles and definitions by PostgreSQL's own programs, rows by a
// subscription in each database. What an earlier attempt left is removed. The mark comes last.
func (m *Move) copy(ctx context.Context, before made) error {
	s := m.server
	if err := m.examine(ctx); err != nil {
		return err
	}
	s.Door.Open(m.source)
	s.Report(fmt.Sprintf("the data of %s is copied: %d databases, %d MiB", m.source.Address, len(m.survey.Databases),
		m.survey.Bytes>>20))
	then := m.survey
	if err := m.clear(ctx, before); err != nil {
		return err
	}
	made := mark{Stage: stageFollows, Address: m.source.Address, Copy: volume.NewName(4), Volume: m.volume,
		Schemas: map[string]map[string]string{}}
	var err error
	if made.Made, err = m.copyRoles(ctx); err != nil {
		return err
	}
	for _, d := range then.Databases {
		made.Schemas[d.Name] = d.Schema
		if err := m.subscribe(ctx, made, d); err != nil {
			return fmt.Errorf("copy the database %q of %s: %w", d.Name, m.source.Address, err)
		}
	}
	for _, d := range then.Databases {
		if err := m.arrive(ctx, d); err != nil {
			return fmt.Errorf("copy the database %q of %s: %w", d.Name, m.source.Address, err)
		}
	}
	if err := m.observe(ctx); err != nil {
		return err
	}
	if err := m.differs(made, m.survey); err != nil {
		return fmt.Errorf("copy the data of the source, which is tried again: %w", err)
	}
	if err := s.writeMark(ctx, made); err != nil {
		return err
	}
	s.Report("all data of " + m.source.Address + " is here, and it is followed")
	return nil
}

// examine asks the source, and this server, whether the data can come.
func (m *Move) examine(ctx context.Context) error {
	if err := m.observe(ctx); err != nil {
		return err
	}
	unfit := slices.Clone(m.survey.Unfit)
	got, err := m.server.Once(ctx, "SELECT name FROM pg_available_extensions")
	if err != nil {
		return err
	}
	for _, name := range m.survey.Extensions {
		if !slices.ContainsFunc(got[0], func(row []string) bool { return row[0] == name }) {
			unfit = append(unfit, fmt.Sprintf("the extension %q is not in the image of this cluster", name))
		}
	}
	lacks, err := m.server.lacks(ctx, m.survey.Databases)
	if err != nil {
		return err
	}
	unfit = append(unfit, lacks...)
	if free := m.server.free(); m.survey.Bytes > free {
		unfit = append(unfit, fmt.Sprintf("it holds %d MiB, and the volume has room for %d MiB", m.survey.Bytes>>20,
			free>>20))
	}
	if len(unfit) > 0 {
		return unfitError(unfit)
	}
	return nil
}

// clear removes what an earlier attempt left, here and at the source.
func (m *Move) clear(ctx context.Context, before made) error {
	s := m.server
	all := slices.Clone(before.Databases)
	for _, d := range m.survey.Databases {
		all = append(all, d.Name)
	}
	slices.Sort(all)
	for _, name := range slices.Compact(all) {
		statements := "DROP DATABASE IF EXISTS " + local.Identifier(name) + " WITH (FORCE)"
		if _, err := s.OnceIn(ctx, "template1", statements); err != nil {
			return fmt.Errorf("remove the database %q of an earlier attempt: %w", name, err)
		}
		if name == source.Maintenance {
			statements = "CREATE DATABASE " + local.Identifier(name) + " TEMPLATE template0"
			if _, err := s.OnceIn(ctx, "template1", statements); err != nil {
				return fmt.Errorf("make the database %q again: %w", name, err)
			}
		}
	}
	if len(before.Roles) > 0 {
		if _, err := s.Once(ctx, "DROP ROLE IF EXISTS "+strings.Join(before.Roles, ", ")); err != nil {
			return fmt.Errorf("remove the roles of an earlier attempt: %w", err)
		}
	}
	return m.dropSlots(ctx, source.Maintenance)
}

// dropSlots drops those that this cluster made at the source. One that is being read is given a moment to end.
func (m *Move) dropSlots(ctx context.Context, database string) error {
	ctx, stop := context.WithTimeout(ctx, askTime)
	defer stop()
	system := strings.TrimSuffix(strings.TrimPrefix(m.own, "dbop_"), "_")
	mine := "(starts_with(slot_name, " + local.Literal(m.own) + ") OR slot_name ~ " +
		local.Literal("^pg_[0-9]+_sync_[0-9]+_"+system+"$") + ")"
	for {
		got, err := m.ask(ctx, database, "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots "+
			"WHERE NOT active AND "+mine+"; SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE "+mine)
		if err == nil && len(got[1]) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(errors.New("drop the slots of an earlier attempt at the source: they are in use"), err)
		case <-time.After(copyPoll):
		}
	}
}

// quietly keeps statements with passwords out of the log of the server.
const quietly = "-c log_min_error_statement=panic -c log_statement=none -c log_min_duration_statement=-1 "

// copyRoles makes the roles of the source that are not here. Those that are keep what they have. It returns what this
// copy makes, which it notes first.
func (m *Move) copyRoles(ctx context.Context) (out made, err error) {
	s := m.server
	got, err := s.Once(ctx, "SELECT quote_ident(rolname) FROM pg_roles")
	if err != nil {
		return out, err
	}
	dump, err := s.Output(ctx, "pg_dumpall", "--roles-only", "--no-comments", "--dbname", s.Conninfo(local.SourcePort,
		"dbname="+source.Maintenance))
	if err != nil {
		return out, fmt.Errorf("copy the roles of %s: %w", m.source.Address, err)
	}
	script := newRoles(dump, got[0])
	for line := range strings.Lines(script) {
		if name, is := strings.CutPrefix(line, "CREATE ROLE "); is {
			out.Roles = append(out.Roles, strings.TrimSuffix(name, ";\n"))
		}
	}
	for _, d := range m.survey.Databases {
		out.Databases = append(out.Databases, d.Name)
	}
	if err := s.writeMark(ctx, mark{Made: out}); err != nil {
		return out, err
	}
	err = s.Feed(ctx, script, "psql", "--no-psqlrc", "--quiet", "--output", "/dev/null",
		"--set", "ON_ERROR_STOP=1", "--set", "VERBOSITY=terse", "--dbname",
		s.Conninfo(s.Port, "dbname=postgres options="+local.Value(quietly+s.Options())))
	if err != nil {
		return out, fmt.Errorf("copy the roles of %s: %w", m.source.Address, err)
	}
	return out, nil
}

// newRoles takes out of a dump what it says of roles that are there, and who granted what.
func newRoles(dump string, there [][]string) string {
	var out strings.Builder
	for line := range strings.Lines(dump) {
		known := slices.ContainsFunc(there, func(row []string) bool {
			return strings.HasPrefix(line, "CREATE ROLE "+row[0]+";") || strings.HasPrefix(line, "ALTER ROLE "+row[0]+" ")
		})
		if known {
			continue
		}
		if before, _, found := strings.Cut(line, " GRANTED BY "); found && strings.HasPrefix(line, "GRANT ") {
			line = before + ";\n"
		}
		out.WriteString(line)
	}
	return out.String()
}

// subscribe makes one database with its definitions, and has its rows copied.
func (m *Move) subscribe(ctx context.Context, of mark, d source.Database) error {
	s := m.server
	if err := m.copyDefinitions(ctx, d); err != nil {
		return err
	}
	tables := ""
	if len(d.Tables) > 0 {
		tables = " FOR TABLE ONLY " + strings.Join(d.Tables, ", ONLY ")
	}
	name := local.Identifier(m.publication())
	_, err := m.ask(ctx, d.Name, "DROP PUBLICATION IF EXISTS "+name+"; CREATE PUBLICATION "+name+tables)
	if err != nil {
		return err
	}
	more := ""
	if s.Major >= 16 {
		more = ", run_as_owner = true"
	}
	// A worker that waits for standbys with each transaction is slower than the source. So another copy of the data may
	// lack what the source was told is here: see mark.Volume.
	_, err = s.OnceIn(ctx, d.Name, "CREATE SUBSCRIPTION "+subscription+" CONNECTION "+
		local.Literal(s.Conninfo(local.SourcePort, "dbname="+local.Value(d.Name)))+" PUBLICATION "+name+
		" WITH (slot_name = "+local.Literal(m.slot(of, d.OID))+", synchronous_commit = 'off'"+more+")")
	return err
}

// arrive waits until all rows of a database are here, and then gathers statistics and fills those materialized views
// that are filled at the source.
func (m *Move) arrive(ctx context.Context, d source.Database) error {
	s := m.server
	for {
		got, err := s.OnceIn(ctx, d.Name, "SELECT count(*) FILTER (WHERE srsubstate <> 'r') FROM pg_subscription_rel; "+
			"SELECT sum(pg_database_size(oid)) FROM pg_database; SELECT coalesce(sum(apply_error_count + sync_error_count), 0) "+
			"FROM pg_stat_subscription_stats WHERE subname = "+local.Literal(subscription))
		if err != nil {
			return err
		}
		received, _ := strconv.ParseInt(got[1][0][0], 10, 64) // it is a number
		m.tell(func(t *api.Source) { t.Received = received })
		if got[0][0][0] == "0" {
			break
		}
		if got[2][0][0] != "0" {
			m.say(fmt.Errorf("rows of the database %q can't be copied, which is tried again: the log of the server says why",
				d.Name))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(copyPoll):
		}
	}
	views, err := s.OnceIn(ctx, d.Name, "SELECT format('%I.%I', n.nspname, c.relname) "+
		"FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE relkind = 'm' ORDER BY c.oid")
	if err != nil {
		return err
	}
	for _, row := range views[0] {
		if !slices.Contains(d.Views, row[0]) {
			continue
		}
		if _, err := s.OnceIn(ctx, d.Name, "REFRESH MATERIALIZED VIEW "+row[0]); err != nil {
			return err
		}
	}
	_, err = s.OnceIn(ctx, d.Name, "ANALYZE")
	return err
}

// unsubscribe drops the subscription of each database, and leaves what it made at the source.
func (s Server) unsubscribe(ctx context.Context) error {
	got, err := s.Once(ctx, "SELECT datname FROM pg_subscription s JOIN pg_database d ON d.oid = s.subdbid "+
		"WHERE subname = "+local.Literal(subscription))
	if err != nil {
		return err
	}
	for _, row := range got[0] {
		if err := s.unsubscribeIn(ctx, row[0]); err != nil {
			return err
		}
	}
	return nil
}

func (s Server) unsubscribeIn(ctx context.Context, database string) error {
	_, err := s.OnceIn(ctx, database, "ALTER SUBSCRIPTION "+subscription+" DISABLE; ALTER SUBSCRIPTION "+subscription+
		" SET (slot_name = NONE); DROP SUBSCRIPTION "+subscription)
	if err != nil {
		return fmt.Errorf("drop the subscription in the database %q: %w", database, err)
	}
	return nil
}
