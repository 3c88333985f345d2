package major

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/postgres/private"
)

// SQL of what follows a conversion. A library that orders text in another way than the one by which an index was made
// spoils it (https://www.postgresql.org/docs/current/sql-altercollation.html), so such indexes are made again.
const (
	// databases lists those that have data of people.
	databases = `SELECT datname FROM pg_database WHERE datallowconn ORDER BY 1`
	// reordered says everything where the order of a database's text is of another version now.
	reordered = `SELECT '` + everything + `' FROM pg_database WHERE datname = current_database() ` +
		`AND datcollversion IS DISTINCT FROM pg_database_collation_actual_version(oid)`
	everything = "all"
	// explicit are commands that make the indexes again which have an order of their own. The system's own orders
	// lose their version by a conversion: so the indexes with any of those are among them. One of a partitioned table is
	// made of those of its parts.
	explicit = `SELECT DISTINCT format('REINDEX INDEX %s', k.oid::regclass) FROM pg_class k ` +
		`JOIN pg_index i ON i.indexrelid = k.oid, unnest(i.indcollation) AS o(id) JOIN pg_collation c ON c.oid = o.id ` +
		`WHERE k.relkind = 'i' AND c.collprovider IN ('i', 'c') AND c.collname NOT IN ('C', 'POSIX')`
	// every are commands that make all indexes of people again.
	every = `SELECT format('REINDEX INDEX %s', k.oid::regclass) FROM pg_class k ` +
		`JOIN pg_namespace n ON n.oid = k.relnamespace ` +
		`WHERE k.relkind = 'i' AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'`
	// one begins each of those commands.
	one = "REINDEX INDEX "
	// versions are commands that write down the present versions. The server refuses it where none was written. Orders
	// of the system have them already: they were made with the empty database.
	versions = `SELECT format('ALTER COLLATION %s REFRESH VERSION', oid::regcollation) FROM pg_collation ` +
		`WHERE oid >= 16384 AND collprovider <> 'd' AND collversion <> pg_collation_actual_version(oid)`
	// outdated are commands that update extensions of which the server has a later version.
	outdated = `SELECT format('ALTER EXTENSION %I UPDATE', name) FROM pg_available_extensions ` +
		`WHERE installed_version <> default_version`
	// unknown are commands that gather the statistics of tables that have none.
	unknown = `SELECT format('ANALYZE %s', c.oid::regclass) FROM pg_class c ` +
		`JOIN pg_namespace n ON n.oid = c.relnamespace ` +
		`WHERE c.relkind IN ('r', 'm', 'p') AND n.nspname !~ '^pg_toast' AND c.relpersistence <> 't' ` +
		`AND NOT EXISTS (SELECT FROM pg_statistic s WHERE s.starelid = c.oid)`
	// present are commands that do the same for databases.
	present = `SELECT format('ALTER DATABASE %I REFRESH COLLATION VERSION', datname) FROM pg_database ` +
		`WHERE datcollversion <> pg_database_collation_actual_version(oid)`
)

// maintenance is a database that is always there.
const maintenance = "template1"

// finish makes indexes again where that is due, updates extensions as pg_upgrade proposes, and gathers statistics.
func (u Upgrade) finish(ctx context.Context, s private.Server) error {
	names, err := u.ask(ctx, s, maintenance, databases)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := u.reindex(ctx, s, name); err != nil {
			return err
		}
	}
	due, err := u.ask(ctx, s, maintenance, present)
	if err == nil {
		err = u.each(ctx, s, maintenance, due)
	}
	if err != nil {
		return err
	}
	if err := u.extend(ctx, s, names); err != nil {
		return err
	}
	return u.analyze(ctx, s, names)
}

// extend updates extensions as pg_upgrade proposes.
func (u Upgrade) extend(ctx context.Context, s private.Server, databases []string) error {
	file := filepath.Join(u.scripts(), "update_extensions.sql")
	if _, err := os.Stat(file); err != nil {
		return nil //nolint:nilerr // it proposes none
	}
	err := u.do(s.Command(ctx, "psql", append(u.connect(s, maintenance), "--file", file)...))
	if err == nil || !u.inPlace() {
		return err
	}
	return u.rest(ctx, s, databases, outdated)
}

// analyze gathers statistics, without which queries are slow.
func (u Upgrade) analyze(ctx context.Context, s private.Server, databases []string) error {
	args := []string{"--host", s.Sockets, "--username", u.User, "--all", "--analyze-only", "--jobs", jobs()}
	if later, err := strconv.Atoi(u.Later.Major); err == nil && later >= 18 { // whose pg_upgrade brings the others along
		args = append(args, "--missing-stats-only")
	}
	err := u.do(s.Command(ctx, "vacuumdb", args...))
	if err == nil || !u.inPlace() {
		return err
	}
	return u.rest(ctx, s, databases, unknown)
}

// rest runs what commands of a query are due in each database, and leaves out those that fail: data that has no way
// back must not be kept from serving by an extension that stays as it is, or by a table without statistics. Since
// version 17 a function that an index calls has to name the schemas of what it uses, or ANALYZE ends with an error
// (https://www.postgresql.org/docs/17/release-17.html). A lack of room is nothing of that kind, see remake.
func (u Upgrade) rest(ctx context.Context, s private.Server, databases []string, due string) error {
	for _, name := range databases {
		commands, err := u.ask(ctx, s, name, due)
		if err != nil {
			return err
		}
		for i, command := range commands {
			commands[i] = careful(command, "NULL")
		}
		if err := u.each(ctx, s, name, commands); err != nil {
			return err
		}
	}
	return nil
}

// careful is a command that does something else where it fails, unless for a lack of room, or because it was ended.
func careful(command, otherwise string) string {
	return "DO " + local.Literal("BEGIN EXECUTE "+local.Literal(command)+"; EXCEPTION "+
		"WHEN insufficient_resources OR operator_intervention OR system_error THEN RAISE; WHEN others THEN "+
		otherwise+"; END")
}

// reindex makes those indexes of a database again that hang on the order of text, and writes down the versions of the
// orders.
func (u Upgrade) reindex(ctx context.Context, s private.Server, database string) error {
	due, err := u.ask(ctx, s, database, reordered, explicit, versions)
	if err != nil {
		return err
	}
	if len(due) > 0 && due[0] == everything {
		err = u.do(s.Command(ctx, "reindexdb", "--host", s.Sockets, "--username", u.User, "--dbname", quote(database)))
		due = slices.DeleteFunc(due[1:], func(command string) bool { return strings.HasPrefix(command, one) })
		if err != nil && u.inPlace() {
			all, asked := u.ask(ctx, s, database, every)
			due, err = append(all, due...), asked
		}
	}
	if err != nil {
		return err
	}
	if err = u.each(ctx, s, database, due); err != nil && u.inPlace() {
		return u.remake(ctx, s, database, due)
	}
	return err
}

// remake runs the commands once more. An index that can't be made again, of which the rows are at fault, must not keep
// data from serving that has no way back: it is given up, so that no query takes it, and who reads the status is told.
// A lack of room is nothing of that kind: with more of it a repeat goes on.
func (u Upgrade) remake(ctx context.Context, s private.Server, database string, commands []string) error {
	spared := slices.Clone(commands)
	for i, command := range spared {
		if index, remakes := strings.CutPrefix(command, one); remakes {
			spared[i] = careful(command, "UPDATE pg_index SET indisvalid = false WHERE indexrelid = "+local.Literal(index)+
				"::regclass")
		}
	}
	return u.each(ctx, s, database, spared)
}

// each runs commands, each in a transaction of its own.
func (u Upgrade) each(ctx context.Context, s private.Server, database string, commands []string) error {
	if len(commands) == 0 {
		return nil
	}
	cmd := s.Command(ctx, "psql", append(u.connect(s, database), "--file", "-")...)
	cmd.Stdin = strings.NewReader(strings.Join(commands, ";\n") + ";\n")
	return u.do(cmd)
}

// ask returns the rows that queries return, in their order. A name may hold any character but zero.
func (u Upgrade) ask(ctx context.Context, s private.Server, database string, queries ...string) ([]string, error) {
	args := append(u.connect(s, database), "--tuples-only", "--no-align", "--record-separator-zero")
	for _, q := range queries {
		args = append(args, "--command", q)
	}
	var out bytes.Buffer
	cmd := s.Command(ctx, "psql", args...)
	cmd.Stdout = &out
	if err := u.do(cmd); err != nil {
		return nil, fmt.Errorf("ask the database %s: %w", database, err)
	}
	return slices.DeleteFunc(strings.Split(out.String(), "\x00"), func(row string) bool { return row == "" }), nil
}

func (u Upgrade) connect(s private.Server, database string) []string {
	return []string{"--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1", "--host", s.Sockets, "--username", u.User,
		"--dbname", quote(database)}
}

// quote is a database as clients take it whose name may hold any character.
func quote(database string) string {
	return "dbname='" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(database) + "'"
}
