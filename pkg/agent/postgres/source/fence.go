package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
)

// fencePoll is the time between two questions who is still in a database that was closed.
const fencePoll = 5 * time.Millisecond

// Fence ends writes at a source. No role is let into a closed database, not even a superuser: somebody has to open it
// first. Sessions that were in it are ended.
type Fence struct {
	source Source
	// own is how names begin that this cluster gave there, mark is what a closed database is marked with.
	own string
	// keeper is a session in a database that is not closed.
	keeper *Session
	// within are sessions in the databases.
	within    []*Session
	databases []Database
}

// Marked is the setting of a database that says which cluster closed it.
const Marked = "dbop.closed_for"

// Approach opens the sessions that a fence needs.
func (s Source) Approach(ctx context.Context, own string, databases []Database) (*Fence, error) {
	f := &Fence{source: s, own: own, databases: databases}
	var err error
	if f.keeper, err = s.Open(ctx, Keeper(databases)); err != nil {
		return nil, err
	}
	return f, nil
}

// Keeper names a database that stays open when others are closed.
func Keeper(databases []Database) string {
	if slices.ContainsFunc(databases, func(d Database) bool { return d.Name == Maintenance }) {
		return "template1"
	}
	return Maintenance
}

// Enter opens a session in each database, before they are closed.
func (f *Fence) Enter(ctx context.Context) error {
	for _, d := range f.databases {
		c, err := f.source.Open(ctx, d.Name)
		if err != nil {
			return err
		}
		f.within = append(f.within, c)
	}
	return nil
}

// Leave ends the sessions.
func (f *Fence) Leave() {
	f.keeper.Close()
	for _, c := range f.within {
		c.Close()
	}
	f.within = nil
}

// each builds statements for all databases, in one transaction.
func (f *Fence) each(statements ...string) string {
	var b strings.Builder
	b.WriteString("BEGIN; ")
	for _, d := range f.databases {
		for _, statement := range statements {
			fmt.Fprintf(&b, statement+"; ", local.Identifier(d.Name))
		}
	}
	return b.String() + "COMMIT"
}

// Reopen lets everybody into the databases again that this cluster closed, whose name there is own.
func (s Source) Reopen(ctx context.Context, own string) error {
	f := &Fence{source: s, own: own}
	err := f.reopen(ctx)
	if err != nil {
		return fmt.Errorf("open the databases of the source again: %w", err)
	}
	return nil
}

func (f *Fence) reopen(ctx context.Context) (err error) {
	if f.keeper, err = f.source.Open(ctx, "template1"); err != nil {
		return err
	}
	defer f.Leave()
	got, err := f.keeper.Ask(ctx, "SELECT datname FROM pg_database d JOIN pg_db_role_setting s ON s.setdatabase = d.oid "+
		"WHERE s.setrole = 0 AND "+local.Literal(Marked+"="+f.own)+" = ANY (s.setconfig)")
	if err != nil || len(got[0]) == 0 {
		return err
	}
	for _, row := range got[0] {
		f.databases = append(f.databases, Database{Name: row[0]})
	}
	_, err = f.keeper.Ask(ctx, f.each("ALTER DATABASE %s ALLOW_CONNECTIONS true", "ALTER DATABASE %s RESET "+Marked,
		"ALTER DATABASE %s RESET default_transaction_read_only"))
	return err
}

// others are the sessions in the databases that are not this cluster's, and transactions that were prepared there. A
// session that is being opened is in no list of sessions yet: it has a lock on its database from before it reads that
// nobody is let in. So the locks are read first.
const others = `SELECT l.pid FROM pg_locks l WHERE l.locktype = 'object' AND l.classid = 'pg_database'::regclass
  AND l.objid = ANY ($databases) AND l.pid <> ALL ($mine)
UNION SELECT a.pid FROM pg_stat_activity a LEFT JOIN pg_replication_slots s ON s.active_pid = a.pid
  WHERE a.datid = ANY ($databases) AND a.pid <> ALL ($mine) AND coalesce(NOT starts_with(s.slot_name, $own), true);
SELECT gid FROM pg_prepared_xacts p JOIN pg_database d ON d.datname = p.database WHERE d.oid = ANY ($databases)`

// Prepared names the transactions that were prepared in the databases: they could be committed after the cut over.
func (f *Fence) Prepared(ctx context.Context) ([]string, error) {
	got, err := f.keeper.Ask(ctx, f.fill(others))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, row := range got[1] {
		names = append(names, row[0])
	}
	return names, nil
}

func (f *Fence) fill(statement string) string {
	oids, mine := make([]string, len(f.databases)), []string{pid(f.keeper)}
	for i, d := range f.databases {
		oids[i] = d.OID
	}
	for _, c := range f.within {
		mine = append(mine, pid(c))
	}
	return strings.NewReplacer("$databases", "'{"+strings.Join(oids, ",")+"}'::oid[]",
		"$mine", "'{"+strings.Join(mine, ",")+"}'::int[]", "$own", local.Literal(f.own)).Replace(statement)
}

func pid(s *Session) string { return strconv.FormatUint(uint64(s.conn.PID()), 10) }

// Close closes the databases, ends all sessions in them but those of this cluster, and returns where the log of the
// source ends then: no write comes after that.
func (f *Fence) Close(ctx context.Context) (end string, err error) {
	_, err = f.keeper.Ask(ctx, f.each("ALTER DATABASE %s SET "+Marked+" = "+local.Literal(f.own),
		"ALTER DATABASE %s SET default_transaction_read_only = on", "ALTER DATABASE %s ALLOW_CONNECTIONS false"))
	if err != nil {
		return "", fmt.Errorf("close the databases of the source: %w", err)
	}
	for {
		got, err := f.keeper.Ask(ctx, f.fill(others))
		if err != nil {
			return "", err
		}
		if len(got[1]) > 0 {
			return "", fmt.Errorf("the transaction %q is prepared there, and could be committed later", got[1][0][0])
		}
		if len(got[0]) == 0 {
			break
		}
		pids := make([]string, len(got[0]))
		for i, row := range got[0] {
			pids[i] = row[0]
		}
		if _, err := f.keeper.Ask(ctx, "SELECT pg_terminate_backend(pid) FROM unnest('{"+strings.Join(pids, ",")+
			"}'::int[]) AS pid"); err != nil {
			return "", err
		}
		select {
		case <-ctx.Done():
			return "", errors.New("sessions in its databases do not end in time: processes " + strings.Join(pids, ", "))
		case <-time.After(fencePoll):
		}
	}
	// The message is flushed, and with it what was committed without a wait for that.
	got, err := f.keeper.Ask(ctx, "BEGIN; SELECT pg_logical_emit_message(true, 'dbop', ''); COMMIT; "+
		"SELECT pg_current_wal_flush_lsn()")
	if err != nil {
		return "", err
	}
	return got[3][0][0], nil
}

// Reached waits until this cluster has confirmed all of the log up to a place, for each database. The names of its
// slots begin with slots. Confirm is called before each question.
func (f *Fence) Reached(ctx context.Context, slots, end string, confirm func(context.Context) error) error {
	for {
		if err := confirm(ctx); err != nil {
			return err
		}
		got, err := f.keeper.Ask(ctx, "SELECT count(*), min(confirmed_flush_lsn) FROM pg_replication_slots WHERE "+
			"starts_with(slot_name, "+local.Literal(slots)+") AND confirmed_flush_lsn >= "+local.Literal(end)+"::pg_lsn")
		if err == nil && got[0][0][0] == strconv.Itoa(len(f.databases)) {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(errors.New("what was written there is not here in time"), err)
		case <-time.After(fencePoll):
		}
	}
}

// Position is the state of a sequence.
type Position struct {
	Sequence string
	// Last is the last value, Called says that it was given to somebody.
	Last   string
	Called bool
}

// Final reads, from a database that is closed, the sums of its definitions and the states of its sequences.
func (f *Fence) Final(ctx context.Context, i int) (map[string]string, []Position, error) {
	d := f.databases[i]
	var b strings.Builder
	for _, name := range d.Sequences {
		fmt.Fprintf(&b, "SELECT last_value, is_called FROM %s; ", name)
	}
	got, err := f.within[i].Ask(ctx, b.String()+schema)
	if err != nil {
		return nil, nil, err
	}
	var all []Position
	for i, name := range d.Sequences {
		all = append(all, Position{Sequence: name, Last: got[i][0][0], Called: got[i][0][1] == "t"})
	}
	return sums(got[len(d.Sequences)]), all, nil
}

// Closed asks what identifies databases as they are now. Who opens one, or changes anything about it, changes that.
const Closed = "SELECT datname, xmin FROM pg_database WHERE NOT datistemplate AND NOT datallowconn"

// Identify returns what identifies each database that is closed.
func (f *Fence) Identify(ctx context.Context) (map[string]string, error) {
	got, err := f.keeper.Ask(ctx, Closed)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, row := range got[0] {
		out[row[0]] = row[1]
	}
	return out, nil
}

// Held is what Identify returns of the databases of this fence. It is an error if one of them is open.
func (f *Fence) Held(ctx context.Context) (map[string]string, error) {
	all, err := f.Identify(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, d := range f.databases {
		if out[d.Name] = all[d.Name]; out[d.Name] == "" {
			return nil, fmt.Errorf("somebody opened the database %q of the source", d.Name)
		}
	}
	return out, nil
}

// Note writes the comment of a role of the source.
func (f *Fence) Note(ctx context.Context, role, text string) error {
	_, err := f.keeper.Ask(ctx, "COMMENT ON ROLE "+local.Identifier(role)+" IS "+local.Literal(text))
	return err
}
