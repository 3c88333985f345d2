package agent

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// stockPostgres is a PostgreSQL as somebody else runs it: one server, whose superuser has a password.
type stockPostgres struct {
	t    *testing.T
	dir  string
	port int
	more []string
	cmd  *exec.Cmd
}

// run runs a program of PostgreSQL as the user of the servers.
func (s *stockPostgres) run(name string, args ...string) {
	s.t.Helper()
	cmd := exec.Command(filepath.Join(programs(s.t), name), args...)
	cmd.SysProcAttr, cmd.Dir = &syscall.SysProcAttr{Credential: servers(s.t)}, s.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("%s: %v: %s", name, err, out)
	}
}

// newStockPostgres makes a server. More are its settings.
func newStockPostgres(t *testing.T, more ...string) *stockPostgres {
	t.Helper()
	dir, err := os.MkdirTemp(built, "p") //nolint:usetesting // that one's name is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	s := &stockPostgres{t: t, dir: dir, port: freePorts(t, 1)[0], more: more}
	secret := filepath.Join(dir, "password")
	if err := os.WriteFile(secret, []byte(stockPassword+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if owner := servers(t); owner != nil {
		if err := os.Chown(dir, int(owner.Uid), int(owner.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	s.run("initdb", "--pgdata", s.data(), "--username", "postgres", "--auth", "scram-sha-256", "--pwfile", secret,
		"--encoding", "UTF8", "--locale", "C.UTF-8")
	s.start()
	t.Cleanup(s.kill)
	return s
}

func (s *stockPostgres) data() string { return filepath.Join(s.dir, "data") }

func (s *stockPostgres) start() {
	s.t.Helper()
	args := []string{"-D", s.data(), "-c", "port=" + strconv.Itoa(s.port), "-c", "listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories=" + s.dir, "-c", "shared_buffers=16MB"}
	for _, more := range s.more {
		args = append(args, "-c", more)
	}
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	s.cmd = exec.Command(filepath.Join(programs(s.t), "postgres"), args...)
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: servers(s.t), Setpgid: true}
	s.cmd.Stdout, s.cmd.Stderr, s.cmd.Dir = log, log, s.dir
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	for range 200 {
		if c, err := s.dial(s.t.Context(), "postgres", "postgres"); err == nil {
			_ = c.Close(s.t.Context())
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.t.Fatal("the stock server does not answer")
}

func (s *stockPostgres) kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGQUIT)
	_ = s.cmd.Wait()
	s.cmd = nil
	if s.t.Failed() {
		if raw, err := os.ReadFile(filepath.Join(s.dir, "log")); err == nil {
			s.t.Logf("log of the source:\n%s", raw[max(0, len(raw)-4000):])
		}
	}
}

func (s *stockPostgres) dial(ctx context.Context, user, database string) (*pgconn.PgConn, error) {
	return pgconn.Connect(ctx, fmt.Sprintf("host=127.0.0.1 port=%d user=%s dbname=%s sslmode=disable password=%s "+
		"connect_timeout=2", s.port, user, database, stockPassword))
}

// ask runs statements as the superuser, and returns the rows of the last one.
func (s *stockPostgres) ask(database, statements string) [][]string {
	s.t.Helper()
	c, err := s.dial(s.t.Context(), "postgres", database)
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.Close(s.t.Context())
	got, err := rowsOf(s.t.Context(), c, statements)
	if err != nil {
		s.t.Fatalf("%s: %v", statements, err)
	}
	return got
}

func rowsOf(ctx context.Context, c *pgconn.PgConn, statements string) ([][]string, error) {
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

// sold are rows that a writer was told are written at the source: numbers of a sequence, by session.
type sold struct {
	rows atomic.Int64
	// last is when a row was acknowledged last.
	last    atomic.Int64
	mu      sync.Mutex
	all     map[int]bool
	stop    context.CancelFunc
	stopped sync.WaitGroup
}

// sell has sessions write to the database shop, and connect again as long as they may: some as the owner, and some as a
// superuser. Each adds an order, and counts it in a row that is there.
func (s *stockPostgres) sell(writers int) *sold {
	ctx, stop := context.WithCancel(context.Background())
	a := &sold{all: map[int]bool{}, stop: stop}
	for i := range writers {
		user := []string{"seller", "postgres"}[i%2]
		a.stopped.Go(func() {
			var c *pgconn.PgConn
			for ctx.Err() == nil {
				if c == nil {
					var err error
					if c, err = s.dial(ctx, user, "shop"); err != nil {
						c = nil
						pause(ctx, 50*time.Millisecond)
						continue
					}
				}
				asked, done := context.WithTimeout(ctx, 5*time.Second)
				got, err := rowsOf(asked, c, "BEGIN READ WRITE; UPDATE counts SET n = n + 1 WHERE id = "+strconv.Itoa(i)+
					"; INSERT INTO orders (what) VALUES ('"+user+"'); COMMIT; SELECT lastval()")
				done()
				if err != nil {
					_ = c.Close(ctx)
					c = nil
					continue
				}
				id, _ := strconv.Atoi(got[0][0])
				a.mu.Lock()
				a.all[id] = true
				a.mu.Unlock()
				a.rows.Add(1)
				a.last.Store(time.Now().UnixNano())
				pause(ctx, 5*time.Millisecond)
			}
			if c != nil {
				_ = c.Close(ctx)
			}
		})
	}
	return a
}

func (a *sold) end() {
	a.stop()
	a.stopped.Wait()
}

// shop is what the source holds before it is copied.
const shop = `CREATE TABLE orders (id bigserial PRIMARY KEY, what text NOT NULL, at timestamptz DEFAULT now());
CREATE TABLE counts (id int PRIMARY KEY, n bigint NOT NULL);
INSERT INTO counts SELECT g, 0 FROM generate_series(0, 9) g;
CREATE TABLE parts (id int, region text, PRIMARY KEY (id, region)) PARTITION BY LIST (region);
CREATE TABLE parts_a PARTITION OF parts FOR VALUES IN ('a');
CREATE TABLE parts_b PARTITION OF parts FOR VALUES IN ('b');
INSERT INTO parts SELECT g, CASE g % 2 WHEN 0 THEN 'a' ELSE 'b' END FROM generate_series(1, 100) g;
CREATE TABLE names (name text);
ALTER TABLE names REPLICA IDENTITY FULL;
INSERT INTO names VALUES ('one'), ('two');
CREATE UNLOGGED TABLE cache (id int PRIMARY KEY, v text);
INSERT INTO cache VALUES (1, 'x');
CREATE MATERIALIZED VIEW many AS SELECT region, count(*) FROM parts GROUP BY 1;
CREATE SCHEMA "odd Schema";
CREATE SEQUENCE "odd Schema"."odd'Seq" START 7 INCREMENT 7;
SELECT nextval('"odd Schema"."odd''Seq"'), nextval('"odd Schema"."odd''Seq"');
CREATE FUNCTION twice(int) RETURNS int LANGUAGE sql AS 'SELECT $1 * 2';
`

// newShop makes a source with a database that its owner and others write to.
func newShop(t *testing.T, more ...string) *stockPostgres {
	t.Helper()
	s := newStockPostgres(t, append([]string{"wal_level=logical"}, more...)...)
	s.ask("postgres", "CREATE ROLE seller LOGIN PASSWORD '"+stockPassword+"'; CREATE ROLE readers; "+
		"GRANT readers TO seller")
	s.ask("postgres", "CREATE DATABASE shop OWNER seller")
	s.ask("shop", "SET ROLE seller; "+shop)
	s.ask("postgres", "CREATE DATABASE empty")
	return s
}

// options are those of a cluster that follows this source.
func (s *stockPostgres) options(members int) options {
	return options{durability: protocol.Preferred, members: members, sourceSecret: s.dir,
		source: &protocol.Source{Address: "127.0.0.1:" + strconv.Itoa(s.port)}}
}
