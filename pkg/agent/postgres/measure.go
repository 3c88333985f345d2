//go:build linux

package postgres

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
)

// measures asks for what people want to know of a server. The sessions of the agent and the server's own processes do
// not count as clients. Sizes are no part of it: what safety needs must not wait for them.
const measures = `WITH client AS (SELECT xact_start FROM pg_stat_activity WHERE backend_type = 'client backend'
  AND NOT (usename = current_user AND application_name IN ('agent', 'observer', 'probe')))
SELECT (SELECT count(*) FROM client),
 current_setting('max_connections'),
 (SELECT (extract(day FROM open) * 86400 + extract(hour FROM open) * 3600 + extract(minute FROM open) * 60
   + floor(extract(second FROM open)))::bigint
  FROM (SELECT now() - least((SELECT min(xact_start) FROM client), (SELECT min(prepared) FROM pg_prepared_xacts))
   AS open) AS oldest),
 (SELECT max(age(datfrozenxid)) FROM pg_database),
 (SELECT (current_setting('archive_mode') <> 'off')::int),
 (SELECT max(mxid_age(datminmxid)) FROM pg_database);
` + ownTablespaces + `;
SELECT slot_name FROM pg_replication_slots WHERE database IS NOT NULL AND NOT temporary ORDER BY slot_name;
SELECT datname FROM pg_database WHERE NOT datallowconn AND NOT datistemplate ORDER BY datname;
SELECT datname FROM pg_database WHERE datconnlimit = -2 ORDER BY datname;
` + overrides + `;
` + retained + `;
` + prepared + `;
` + lowered

// prepared are the transactions that wait for the second half of a commit, however long their clients are gone.
const prepared = `SELECT gid, database, (extract(day FROM open) * 86400 + extract(hour FROM open) * 3600
 + extract(minute FROM open) * 60 + floor(extract(second FROM open)))::bigint
FROM (SELECT gid, database, now() - prepared AS open FROM pg_prepared_xacts WHERE NOT pg_is_in_recovery()) AS half
ORDER BY 3 DESC`

const (
	// transactionIDs is how many transactions may begin after the oldest row that is not frozen. The server refuses
	// writes 3 million before that (section 24.1.5 of the manual).
	transactionIDs = 1 << 31
	// worthTelling is the share of them from which it is shown, and much the one from which it is worth a warning: the
	// server's own vacuum against it begins at 10 %.
	worthTelling, much = 0.2, 0.5
	// longTransaction keeps vacuum from removing rows.
	longTransaction = time.Hour
)

// Measure implements api.Meter.
func (s *Server) Measure(ctx context.Context) (api.Measures, error) {
	got, err := s.Once(ctx, measures)
	if err != nil {
		return api.Measures{}, err
	}
	row := got[0][0]
	n := make([]int64, len(row))
	for i, text := range row {
		if text == "" {
			continue // nobody has a transaction open, or nothing was replayed
		}
		if n[i], err = strconv.ParseInt(text, 10, 64); err != nil {
			return api.Measures{}, fmt.Errorf("read what the server measures: %w", err)
		}
	}
	size, sizeErr := s.measureSizes(ctx)
	if !size.known {
		size.log = unknownSize
	}
	out := measuresFrom(size.databases, size.log, n[0], n[1], n[2], n[3])
	tellMultixacts(&out, n[5])
	if err := tellPrepared(&out, got[7]); err != nil {
		return api.Measures{}, err
	}
	out.Obstacles = obstacles(got[7], got[4])
	slots, err := slotsFrom(got[6])
	if err != nil {
		return api.Measures{}, err
	}
	_, volume := s.volume.Space()
	tellSlots(&out, slots, volume)
	s.tellSince(&out)
	s.unconfirmed.tell(&out, time.Now())
	s.mu.Lock()
	durability, replica, lag := s.settings.Durability, s.promoted == 0, s.lag
	s.mu.Unlock()
	tellLowered(&out, durability, got[8])
	if sizeErr != nil {
		out.Miss("the size of its databases", sizeErr)
	}
	if replica {
		out.Readings = append([]api.Reading{{Name: "behind", Value: lag.String()}}, out.Readings...)
	}
	for _, slot := range got[2] {
		out.OnlyHere = append(out.OnlyHere, "the logical slot "+slot[0])
	}
	for _, database := range got[3] {
		out.Closed = append(out.Closed, database[0])
	}
	for _, setting := range got[5] {
		out.Overridden = append(out.Overridden, setting[0])
	}
	for _, space := range got[1] {
		out.Warnings = append(out.Warnings, fmt.Sprintf("the tablespace %q is outside of the data directory: it is in no "+
			"backup, and other members can't be made; move what it holds to pg_default and drop it", space[0]))
	}
	for _, database := range got[4] {
		out.Warnings = append(out.Warnings, fmt.Sprintf("a DROP DATABASE of %q was interrupted, and nobody can use what is "+
			"left of it; DROP DATABASE %s ends that", database[0], local.Identifier(database[0])))
	}
	ordered, err := s.collations(ctx)
	out.Warnings = append(out.Warnings, ordered...)
	if err != nil {
		out.Miss("the order of its text", err)
	}
	if n[4] != 0 {
		s.measureArchive(&out)
	}
	return out, nil
}

// unknownSize is that of a log that was not measured.
const unknownSize = -1

// measuresFrom puts the answer in words: bytes of the databases and of the log, sessions and how many there may be, the
// age of the oldest transaction in seconds, and that of the oldest transaction ID.
func measuresFrom(databases, log, sessions, most, oldest, age int64) api.Measures {
	m := api.Measures{Readings: []api.Reading{
		{Name: "connections", Value: fmt.Sprintf("%d/%d", sessions, most)},
		{Name: "oldest transaction", Value: (time.Duration(oldest) * time.Second).String()},
	}}
	if log != unknownSize {
		m.DataBytes = databases + log
		m.Readings = append(m.Readings, api.Reading{Name: "log", Value: fmt.Sprintf("%dMi", log>>20)})
	}
	if sessions >= most {
		m.Warnings = append(m.Warnings, fmt.Sprintf("all of its %d connections are in use", most))
	}
	if open := time.Duration(oldest) * time.Second; open >= longTransaction {
		m.Warnings = append(m.Warnings,
			fmt.Sprintf("a transaction has been open for %s: rows that others delete stay", open))
	}
	share := float64(age) / transactionIDs
	if share >= worthTelling {
		m.Readings = append(m.Readings, api.Reading{Name: "wraparound", Value: fmt.Sprintf("%.0f%%", 100*share)})
	}
	if share >= much {
		m.Warnings = append(m.Warnings, fmt.Sprintf(
			"%.0f%% of the transaction IDs are used since the oldest row was frozen: vacuum it", 100*share))
	}
	return m
}

// tellMultixacts tells how many IDs of groups of lockers are used: writes end without them, too (section 24.1.5.1 of
// the manual).
func tellMultixacts(m *api.Measures, age int64) {
	share := float64(age) / transactionIDs
	if share >= worthTelling {
		m.Readings = append(m.Readings, api.Reading{Name: "multixacts", Value: fmt.Sprintf("%.0f%%", 100*share)})
	}
	if share >= much {
		m.Warnings = append(m.Warnings, fmt.Sprintf(
			"%.0f%% of the multixact IDs are used since the oldest row was frozen: vacuum it", 100*share))
	}
}

// tellPrepared warns of transactions that nobody ends: they outlive their client, a restart and a failover.
func tellPrepared(m *api.Measures, rows [][]string) error {
	for _, row := range rows {
		seconds, err := strconv.ParseInt(row[2], 10, 64)
		if err != nil {
			return fmt.Errorf("read the age of a prepared transaction: %w", err)
		}
		if age := time.Duration(seconds) * time.Second; age >= longTransaction {
			m.Warnings = append(m.Warnings, fmt.Sprintf("the prepared transaction %q of the database %q has waited for %s: "+
				"what it locked stays locked; COMMIT PREPARED %s or ROLLBACK PREPARED %s ends it", row[0], row[1], age,
				local.Literal(row[0]), local.Literal(row[0])))
		}
	}
	return nil
}
