package foreign

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/agreed"
)

// User is who a server is asked as if nobody names another.
const User = "postgres"

// questions are for anybody who may log in; 13 knows all of them. The timeline of the last checkpoint is an earlier one
// for some time after a promotion.
const questions = `SELECT pg_is_in_recovery()::int, s.system_identifier,
 CASE WHEN pg_is_in_recovery() THEN coalesce((SELECT received_tli FROM pg_stat_wal_receiver), c.timeline_id)
   ELSE ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int END,
 (CASE WHEN pg_is_in_recovery() THEN coalesce(pg_last_wal_replay_lsn(), '0/0') ELSE pg_current_wal_lsn() END
   - '0/0')::bigint,
 (SELECT sum(pg_database_size(oid)) FROM pg_database WHERE has_database_privilege(oid, 'CONNECT')),
 (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()),
 current_setting('max_connections'),
 coalesce((SELECT (extract(day FROM open) * 86400 + extract(hour FROM open) * 3600 + extract(minute FROM open) * 60
   + floor(extract(second FROM open)))::bigint FROM (SELECT now() - min(xact_start) AS open FROM pg_stat_activity
   WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()) AS oldest), 0),
 (SELECT max(age(datfrozenxid)) FROM pg_database),
 current_setting('server_version')
 FROM pg_control_system() s, pg_control_checkpoint() c;
SELECT name, setting FROM pg_settings;
SELECT slot_name, coalesce((CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END
   - restart_lsn)::bigint, 0) FROM pg_replication_slots WHERE NOT active ORDER BY 1;
SELECT coalesce(last_failed_wal, '') FROM pg_stat_archiver
 WHERE last_failed_time > coalesce(last_archived_time, '-infinity');
SELECT spcname FROM pg_tablespace WHERE spcname NOT IN ('pg_default', 'pg_global') ORDER BY 1;
SELECT coalesce(application_name, '?'), coalesce(state, '?') FROM pg_stat_replication ORDER BY 1;
SELECT coalesce(sender_host, 'a server') FROM pg_stat_wal_receiver WHERE status = 'streaming'`

// rules of access are for superusers.
const accessRules = `SELECT line_number FROM pg_hba_file_rules WHERE auth_method IN ('trust', 'password', 'md5')
 AND type <> 'local' AND NOT (auth_method = 'trust' AND address IN ('127.0.0.1', '::1')) ORDER BY 1`

// facts are what one server said.
type facts struct {
	recovering      bool
	system          string
	timeline, bytes int
	data            int64
	sessions, most  int
	oldest          time.Duration
	age             int64
	version         string
	settings        map[string]string
	idleSlots       []idleSlot
	failedFile      string
	tablespaces     []string
	streams         int
	upstream        string
	openRules       []string
}

// idleSlot is one that nobody reads, and how much of the log it keeps.
type idleSlot struct {
	name string
	kept int64
}

// read asks, and writes what was said into the member.
func read(ctx context.Context, conn *pgconn.PgConn, m *engine.Member) error {
	answers, err := ask(ctx, conn, questions)
	if err != nil {
		return err
	}
	f, err := factsFrom(answers)
	if err != nil {
		return err
	}
	if rules, err := ask(ctx, conn, accessRules); err == nil { // it takes more rights than others do
		for _, row := range rules[0] {
			f.openRules = append(f.openRules, row[0])
		}
	}
	f.tell(m)
	return nil
}

// ask sends statements in one message; the answer has the rows of each.
func ask(ctx context.Context, conn *pgconn.PgConn, statements string) ([][][]string, error) {
	results, err := conn.Exec(ctx, statements).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("ask the server: %w", err)
	}
	out := make([][][]string, len(results))
	for i, r := range results {
		for _, row := range r.Rows {
			columns := make([]string, len(row))
			for k, v := range row {
				columns[k] = string(v)
			}
			out[i] = append(out[i], columns)
		}
	}
	return out, nil
}

func factsFrom(answers [][][]string) (facts, error) {
	f := facts{settings: map[string]string{}}
	if len(answers) != 7 || len(answers[0]) != 1 {
		return f, fmt.Errorf("ask the server: it gave %d answers", len(answers))
	}
	row := answers[0][0]
	numbers := make([]int64, len(row))
	for i, text := range row[:len(row)-1] {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil && i != 1 && text != "" {
			return f, fmt.Errorf("ask the server: %q is no number", text)
		}
		numbers[i] = n
	}
	f.recovering, f.system, f.timeline, f.bytes = numbers[0] == 1, row[1], int(numbers[2]), int(numbers[3])
	f.data, f.sessions, f.most = numbers[4], int(numbers[5]), int(numbers[6])
	f.oldest, f.age, f.version = time.Duration(numbers[7])*time.Second, numbers[8], row[9]
	for _, r := range answers[1] {
		f.settings[r[0]] = r[1]
	}
	for _, r := range answers[2] {
		kept, _ := strconv.ParseInt(r[1], 10, 64) // the query made it
		f.idleSlots = append(f.idleSlots, idleSlot{r[0], kept})
	}
	for _, r := range answers[3] {
		f.failedFile = r[0]
	}
	for _, r := range answers[4] {
		f.tablespaces = append(f.tablespaces, r[0])
	}
	f.streams = len(answers[5])
	for _, r := range answers[6] {
		f.upstream = r[0]
	}
	return f, nil
}

// tell puts the facts in the words of the contract.
func (f facts) tell(m *engine.Member) {
	m.Role, m.ClusterID, m.Version, m.DataBytes, m.Auth = engine.RolePrimary, f.system, release(f.version), f.data,
		engine.AuthOn
	m.Position = agreed.Position(f.system, f.timeline, f.bytes)
	if f.recovering {
		m.Role, m.Leader = engine.RoleReplica, f.upstream
	}
	m.Readings = []engine.Reading{{Name: "connections", Value: fmt.Sprintf("%d/%d", f.sessions, f.most)},
		{Name: "oldest transaction", Value: f.oldest.String()}, {Name: "streams", Value: strconv.Itoa(f.streams)}}
	m.Alarms, m.Warnings = f.alarms(), f.warnings()
}
