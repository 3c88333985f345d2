package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	engines "github.com/dbop-dev/kubectl-dbop/pkg/engine/postgres"
)

// postgres is the engine PostgreSQL.
type postgres struct{}

// password is that of the role app, which writes the rows.
const password = "a'b\"c d"

// programs is where Debian puts PostgreSQL, or the test fails: what runs here can't be left out.
func programs(t *testing.T) string {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		t.Fatal("PostgreSQL is not installed: run hack/postgres.sh")
	}
	return filepath.Dir(found[len(found)-1])
}

func (postgres) configure(m *member, configuration map[string]any) {
	configuration["postgres"] = map[string]any{"bin": programs(m.site.t), "listen": "127.0.0.1", "port": m.port}
}

func (postgres) tool() tool { return engines.New() }

func (postgres) values() map[string]string {
	return map[string]string{"max_connections": "40", "shared_buffers": "16MB", "max_wal_size": "256MB"}
}

func (postgres) first(m *member) int {
	raw, err := os.ReadFile(filepath.Join(m.directory, "data", "pgdata", "postmaster.pid"))
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(raw), "\n")
	pid, _ := strconv.Atoi(line)
	if syscall.Kill(pid, 0) != nil {
		return 0
	}
	return pid
}

func (postgres) prepare(p *member) error {
	_, err := p.ask("dbop", time.Minute, "CREATE TABLE rows (id int PRIMARY KEY, timeline bigint); "+
		"CREATE ROLE app LOGIN PASSWORD '"+strings.ReplaceAll(password, "'", "''")+"'; GRANT ALL ON rows TO app; "+
		"GRANT EXECUTE ON FUNCTION pg_current_wal_insert_lsn() TO app")
	return err
}

func (postgres) dial(ctx context.Context, m *member) (session, error) {
	c, err := m.dial(ctx, "app")
	return sqlSession{c}, err
}

func (postgres) rows(p, m *member) (map[int]bool, error) {
	end, err := p.ask("dbop", time.Second, "SELECT pg_current_wal_insert_lsn()")
	if err != nil {
		return nil, err
	}
	if m != p {
		there, err := m.ask("dbop", time.Second, "SELECT pg_last_wal_replay_lsn() >= '"+end[0][0]+"'")
		if err != nil || there[0][0] != "t" {
			return nil, errors.Join(err, errors.New("it does not hold all of it"))
		}
	}
	got, err := m.ask("dbop", 5*time.Second, "SELECT id FROM rows")
	held := map[int]bool{}
	for _, r := range got {
		id, invalid := strconv.Atoi(r[0])
		held[id], err = true, errors.Join(err, invalid)
	}
	return held, err
}

// A commit of PostgreSQL waits for a standby, and those follow another primary by then, unless it waits for none.
func (postgres) answersLate(d protocol.Durability) bool { return d == protocol.Async }

func (postgres) timelines(*site) func(string) (uint64, bool) {
	return func(history string) (uint64, bool) {
		timeline, err := strconv.ParseUint(history, 10, 64)
		return timeline, err == nil
	}
}

// dial connects as a client does, or by the socket of the server as dbop.
func (m *member) dial(ctx context.Context, role string) (*pgconn.PgConn, error) {
	port := m.port
	if role == "app" {
		port = m.clientPort()
	}
	return m.dialPort(ctx, role, port)
}

func (m *member) dialPort(ctx context.Context, role string, port int) (*pgconn.PgConn, error) {
	return m.dialAt(ctx, role, port, "postgres")
}

// dialIn connects to the server itself, to a database. The role seller has the password of the stock servers.
func (m *member) dialIn(ctx context.Context, role, database string) (*pgconn.PgConn, error) {
	return m.dialAt(ctx, role, m.port, database)
}

func (m *member) dialAt(ctx context.Context, role string, port int, database string) (*pgconn.PgConn, error) {
	where := "host=127.0.0.1 password='" + strings.ReplaceAll(strings.ReplaceAll(password, `\`, `\\`), "'", `\'`) + "'"
	if role == "dbop" {
		where = "host=" + filepath.Join(m.site.dir, "s-"+string(m.id))
	}
	if role == "seller" {
		where = "host=127.0.0.1 password=" + stockPassword
	}
	return pgconn.Connect(ctx, fmt.Sprintf("%s port=%d user=%s dbname=%s sslmode=disable", where, port, role, database))
}

// ask runs statements on one member and returns the rows of the last one.
func (m *member) ask(role string, bound time.Duration, statements string) ([][]string, error) {
	ctx, stop := context.WithTimeout(context.Background(), bound)
	defer stop()
	c, err := m.dial(ctx, role)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close(ctx) }()
	results, err := c.Exec(ctx, statements).ReadAll()
	if err != nil || len(results) == 0 {
		return nil, err
	}
	var got [][]string
	for _, r := range results[len(results)-1].Rows {
		cells := make([]string, len(r))
		for i, v := range r {
			cells[i] = string(v)
		}
		got = append(got, cells)
	}
	return got, nil
}

// sqlSession is the session of a client.
type sqlSession struct{ conn *pgconn.PgConn }

// insert adds one row. An answer with a warning is none: the server says so when it did not wait for standbys.
func (s sqlSession) insert(ctx context.Context, id int) (string, uint64, error) {
	results, err := s.conn.Exec(ctx, "INSERT INTO rows VALUES ("+strconv.Itoa(id)+
		", ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::int) "+
		"RETURNING timeline, pg_current_wal_insert_lsn() - '0/0'").ReadAll()
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == "25006" { // read only
		return "", 0, errReadOnly
	}
	if err != nil {
		return "", 0, err
	}
	place, err := strconv.ParseUint(string(results[0].Rows[0][1]), 10, 64)
	return string(results[0].Rows[0][0]), place, err
}

func (s sqlSession) close() {
	ctx, stop := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer stop()
	_ = s.conn.Close(ctx)
}
