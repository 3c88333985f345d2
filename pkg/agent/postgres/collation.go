//go:build linux

package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/process"
)

const (
	// databaseOrders are the databases whose text is ordered by another version of a library than they were made with.
	// Version 15 is the first that writes it down.
	databaseOrders, ordersSince = `SELECT datname, datcollversion, pg_database_collation_actual_version(oid)
FROM pg_database WHERE datcollversion <> pg_database_collation_actual_version(oid) ORDER BY 1`, 15
	// indexOrders are the collations of which that is true, and which indexes of a database name. Those are found
	// first: a version costs a file of the library, and a server knows some 800 collations.
	indexOrders = `WITH used AS MATERIALIZED (SELECT DISTINCT o.id FROM pg_index i, unnest(i.indcollation) AS o(id))
SELECT c.oid::regcollation::text FROM used JOIN pg_collation c ON c.oid = used.id
WHERE c.collprovider <> 'd' AND c.collversion <> pg_collation_actual_version(c.oid) ORDER BY 1`
	// invalid are indexes that no query takes, and nobody is at work on: a conversion gave one up, or CREATE INDEX
	// CONCURRENTLY failed. Those of partitioned tables wait for their parts. A replica does not see who is at work.
	invalid = `SELECT format('REINDEX INDEX %s', k.oid::regclass) FROM pg_index i JOIN pg_class k ON k.oid = i.indexrelid
WHERE NOT i.indisvalid AND k.relkind = 'i' AND NOT pg_is_in_recovery()
 AND NOT EXISTS (SELECT FROM pg_stat_progress_create_index p WHERE p.index_relid = k.oid) ORDER BY 1`
	// people can't be let into a database whose DROP was interrupted: it has a limit of -2.
	people = `SELECT datname FROM pg_database WHERE datallowconn AND datconnlimit <> -2 ORDER BY 1`

	// ordersWait is how long an answer is waited for, and ordersTime bounds the questions: each database takes a session
	// of its own. They are asked again after ordersInterval, or after mendedInterval where there was something to say: a
	// person mends that while the server runs.
	ordersWait     = 500 * time.Millisecond
	ordersTime     = 10 * time.Second
	ordersInterval = time.Hour
	mendedInterval = 10 * time.Second
)

// orders is what was found of the versions of collations, in one run of the server.
type orders struct {
	run      *process.Process
	due      time.Time
	warnings []string
	// known says that they are of an answer, err why the last one was not whole.
	known bool
	err   error
	// asked ends when the questions that are under way have their answer.
	asked chan struct{}
}

// collations warns of text that the server's libraries order in another way than indexes were made by: another image
// may bring other libraries. Such an index misses rows, and takes duplicates
// (https://www.postgresql.org/docs/current/sql-altercollation.html). A server that is slow to answer is not waited for:
// what it said before is told until then. An error says that there may be more to warn of.
func (s *Server) collations(ctx context.Context) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return nil, nil
	}
	if s.orders.run != s.proc {
		s.orders = orders{run: s.proc}
	}
	if s.orders.asked == nil && time.Now().After(s.orders.due) {
		s.orders.asked = make(chan struct{})
		go s.askOrders(context.WithoutCancel(ctx), s.proc, s.orders.asked)
	}
	if asked := s.orders.asked; asked != nil {
		s.mu.Unlock()
		select {
		case <-asked:
		case <-ctx.Done():
		case <-time.After(ordersWait):
		}
		s.mu.Lock()
	}
	if s.orders.err == nil && !s.orders.known {
		return nil, errNoAnswer
	}
	return s.orders.warnings, s.orders.err
}

// askOrders keeps what this run of the server answers. Without an answer it is asked again soon.
func (s *Server) askOrders(ctx context.Context, run *process.Process, asked chan struct{}) {
	defer close(asked)
	ctx, stop := context.WithTimeout(ctx, ordersTime)
	defer stop()
	found, err := s.readOrders(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.orders.run != run {
		return
	}
	if err != nil && len(found) == 0 {
		found = s.orders.warnings
	}
	s.orders = orders{run: run, due: time.Now().Add(ordersInterval), warnings: found, known: err == nil || s.orders.known,
		err: err}
	if err != nil || len(found) > 0 {
		s.orders.due = time.Now().Add(mendedInterval)
	}
}

// readOrders asks in each database. One that can't be asked keeps no other one from being asked.
func (s *Server) readOrders(ctx context.Context) (warnings []string, err error) {
	statements := people
	if s.Major >= ordersSince {
		statements += "; " + databaseOrders
	}
	got, err := s.Once(ctx, statements)
	if err != nil {
		return nil, err
	}
	for _, row := range got[1:] {
		for _, d := range row {
			warnings = append(warnings, fmt.Sprintf("indexes of the database %q may be wrong: version %s of a library ordered "+
				"their text, and the server has version %s; REINDEX DATABASE %s, then ALTER DATABASE %s REFRESH COLLATION VERSION",
				d[0], d[1], d[2], local.Identifier(d[0]), local.Identifier(d[0])))
		}
	}
	var failed []error
	for _, d := range got[0] {
		names, remake, err := s.otherOrders(ctx, d[0])
		if err != nil {
			failed = append(failed, fmt.Errorf("in the database %q: %w", d[0], err))
		}
		if len(names) > 0 {
			warnings = append(warnings, fmt.Sprintf("indexes of the database %q with the collations %s may be wrong: another "+
				"version of a library ordered their text; REINDEX them, then ALTER COLLATION name REFRESH VERSION",
				d[0], strings.Join(names, ", ")))
		}
		if len(remake) > 0 {
			warnings = append(warnings, fmt.Sprintf("indexes of the database %q could not be made, and no query takes them; "+
				"%s ends that, once the rows are gone that it complains of", d[0], told(remake)))
		}
	}
	return warnings, errors.Join(failed...)
}

// mostRemade is how many statements a warning names.
const mostRemade = 3

// told are the first of some statements.
func told(statements []string) string {
	if more := len(statements) - mostRemade; more > 0 {
		return strings.Join(statements[:mostRemade], ", ") + fmt.Sprintf(", and so on for %d more,", more)
	}
	return strings.Join(statements, ", ")
}

// otherOrders are the collations of indexes of a database that another version of a library ordered, and the statements
// that make its invalid indexes again.
func (s *Server) otherOrders(ctx context.Context, database string) (names, remake []string, err error) {
	got, err := s.OnceIn(ctx, database, indexOrders+"; "+invalid)
	if err != nil {
		return nil, nil, err
	}
	for _, row := range got[0] {
		names = append(names, row[0])
	}
	for _, row := range got[1] {
		remake = append(remake, row[0])
	}
	return names, remake, nil
}
