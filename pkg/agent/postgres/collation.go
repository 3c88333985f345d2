//go:build linux

package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/process"
)

const (
	// databaseOrders are the databases whose text is ordered by another version of a library than they were made with.
	// Version 15 is the first that writes it down.
	databaseOrders, ordersSince = `SELECT datname, datcollversion, pg_database_collation_actual_version(oid)
FROM pg_database WHERE datcollversion <> pg_database_collation_actual_version(oid) ORDER BY 1`, 15
	// indexOrders are the collations of which that is true, and which indexes of a database name.
	indexOrders = `SELECT DISTINCT c.oid::regcollation::text FROM pg_index i, unnest(i.indcollation) AS o(id)
JOIN pg_collation c ON c.oid = o.id WHERE c.collprovider <> 'd' AND c.collversion <> pg_collation_actual_version(c.oid)
ORDER BY 1`
	people = `SELECT datname FROM pg_database WHERE datallowconn ORDER BY 1`

	// ordersTime bounds the questions. They are asked again after ordersInterval, or after mendedInterval where there was
	// something to say: a person mends that while the server runs.
	ordersTime     = 500 * time.Millisecond
	ordersInterval = time.Hour
	mendedInterval = 10 * time.Second
)

// orders is what was found of the versions of collations, in one run of the server.
type orders struct {
	run      *process.Process
	due      time.Time
	warnings []string
}

// collations warns of text that the server's libraries order in another way than indexes were made by: another image
// may bring other libraries. Such an index misses rows, and takes duplicates
// (https://www.postgresql.org/docs/current/sql-altercollation.html).
func (s *Server) collations(ctx context.Context) []string {
	s.mu.Lock()
	run, known := s.proc, s.orders
	s.mu.Unlock()
	if run == nil || known.run == run && time.Now().Before(known.due) {
		return known.warnings
	}
	ctx, stop := context.WithTimeout(ctx, ordersTime)
	defer stop()
	found, err := s.readOrders(ctx)
	if err != nil {
		found = nil // it may be busy, and is asked again soon
	}
	known = orders{run: run, due: time.Now().Add(ordersInterval), warnings: found}
	if err != nil || len(found) > 0 {
		known.due = time.Now().Add(mendedInterval)
	}
	s.mu.Lock()
	s.orders = known
	s.mu.Unlock()
	return found
}

func (s *Server) readOrders(ctx context.Context) (warnings []string, err error) {
	statements := people
	if s.major >= ordersSince {
		statements += "; " + databaseOrders
	}
	got, err := s.once(ctx, statements)
	if err != nil {
		return nil, err
	}
	for _, row := range got[1:] {
		for _, d := range row {
			warnings = append(warnings, fmt.Sprintf("indexes of the database %q may be wrong: version %s of a library ordered "+
				"their text, and the server has version %s; REINDEX DATABASE %s, then ALTER DATABASE %s REFRESH COLLATION VERSION",
				d[0], d[1], d[2], quoteName(d[0]), quoteName(d[0])))
		}
	}
	for _, d := range got[0] {
		used, err := s.onceIn(ctx, d[0], indexOrders)
		if err != nil {
			return nil, err
		}
		var names []string
		for _, row := range used[0] {
			names = append(names, row[0])
		}
		if len(names) > 0 {
			warnings = append(warnings, fmt.Sprintf("indexes of the database %q with the collations %s may be wrong: another "+
				"version of a library ordered their text; REINDEX them, then ALTER COLLATION name REFRESH VERSION",
				d[0], strings.Join(names, ", ")))
		}
	}
	return warnings, nil
}
