package agent

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// askIn runs statements in a database of a member, as the agent's user.
func (m *member) askIn(database, statements string) ([][]string, error) {
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	c, err := m.dialIn(ctx, "dbop", database)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close(ctx) }()
	return rowsOf(ctx, c, statements)
}

// agree wants the same answer of the source and of the primary.
func (s *site) agree(source *stockPostgres, database string, queries ...string) {
	s.t.Helper()
	for _, q := range queries {
		want := source.ask(database, q)
		s.same(database, q, want)
	}
}

func (s *site) same(database, query string, want [][]string) {
	s.t.Helper()
	got, err := s.awaitPrimary().askIn(database, query)
	if err != nil {
		s.t.Errorf("%s: %v", query, err)
	} else if !slices.EqualFunc(got, want, slices.Equal) {
		s.t.Errorf("%s: %v, at the source %v", query, got, want)
	}
}

// TestMoveIn moves in from a PostgreSQL that something else made, with writers who are superusers too and who say that
// they write: each row that the source acknowledged is there after the cut over, and no other, and the sequences go on
// behind them. It has a bound in seconds, so it runs beside no other test.
func TestMoveIn(t *testing.T) {
	source := newShop(t)
	writers := source.sell(4)
	defer writers.end()
	s := newSite(t, source.options(3))
	p := s.followed("the source is followed")
	if left := p.known().Server.Source.Left; !slices.ContainsFunc(left, func(l string) bool {
		return strings.Contains(l, "unlogged table public.cache")
	}) {
		t.Errorf("what does not come along: %q", left)
	}
	_, err := p.dialIn(t.Context(), "seller", "shop")
	if refused := (*pgconn.PgError)(nil); !errors.As(err, &refused) || refused.Code != "28000" {
		t.Errorf("a client is let in before the cut over: %v", err)
	}
	if _, err := p.askIn("shop", "INSERT INTO names VALUES ('local')"); err == nil {
		t.Error("a person writes by mistake before the cut over")
	}
	user := api.NewUser{User: api.User{Name: "moved", Role: "moved", Grants: []api.Grant{{}}}, Password: "moved-password"}
	if err := p.client.EnsureUser(t.Context(), user); err != nil {
		t.Error(err)
	}
	if ok, err := p.client.TestLogin(t.Context(), user.Name, user.Password); err != nil || !ok {
		t.Errorf("the user has another password: %v", err)
	}
	before := writers.rows.Load()
	s.wait("some rows more", func() bool { return writers.rows.Load() > before+200 })
	out := s.cutOver(api.Cutover{})
	t.Logf("nobody could write for %s; %d rows were acknowledged", out.Gap, writers.rows.Load())
	if out.Gap <= 0 || out.Gap > 5*time.Second || out.Paused != api.UntilOpened ||
		!strings.Contains(out.Compared, "has as many rows as at the source") {
		t.Errorf("the answer is %+v", out)
	}
	rows := writers.rows.Load()
	time.Sleep(300 * time.Millisecond)
	if now := writers.rows.Load(); now != rows {
		t.Errorf("the source acknowledged %d rows after the cut over", now-rows)
	}
	writers.end()
	s.sold(source, writers)
	c, err := s.awaitPrimary().dialIn(t.Context(), "seller", "shop")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	got, err := rowsOf(t.Context(), c, "INSERT INTO orders (what) VALUES ('after') RETURNING id")
	if err != nil {
		t.Fatal(err)
	}
	if id, _ := strconv.Atoi(got[0][0]); writers.all[id] {
		t.Errorf("the sequence gives the number %d again", id)
	}
	if again := s.cutOver(api.Cutover{}); again.Gap != 0 {
		t.Errorf("a second request answers %+v", again)
	}
	if ok, err := s.awaitPrimary().client.TestLogin(t.Context(), user.Name, user.Password); err != nil || !ok {
		t.Errorf("the user may not log in after the cut over: %v", err)
	}
	s.wait("all stream", s.whole)
	p = s.awaitPrimary()
	p.kill()
	s.wait("another primary", func() bool { n := s.primary(); return n != nil && n != p })
	p.start()
	s.sold(source, writers)
}

// sold opens the source for this test, and wants the same rows there and here.
func (s *site) sold(source *stockPostgres, w *sold) {
	s.t.Helper()
	source.ask("postgres", "ALTER DATABASE shop ALLOW_CONNECTIONS true; ALTER DATABASE empty ALLOW_CONNECTIONS true")
	held, err := s.awaitPrimary().askIn("shop", "SELECT id FROM orders")
	if err != nil {
		s.t.Fatal(err)
	}
	here := map[int]bool{}
	for _, row := range held {
		id, _ := strconv.Atoi(row[0])
		here[id] = true
	}
	for id := range w.all {
		if !here[id] {
			s.t.Errorf("the acknowledged row %d is lost", id)
		}
	}
	s.agree(source, "shop", "SELECT * FROM counts ORDER BY 1", "SELECT * FROM parts ORDER BY 1, 2",
		"SELECT * FROM names ORDER BY 1", "SELECT * FROM many ORDER BY 1", "SELECT twice(21)",
		"SELECT count(*), md5(string_agg(o::text, ';' ORDER BY id)) FROM orders o WHERE what <> 'after'",
		`SELECT last_value, is_called FROM "odd Schema"."odd'Seq"`,
		"SELECT pg_get_userbyid(relowner) FROM pg_class WHERE relname = 'orders'",
		"SELECT pg_has_role('seller', 'readers', 'MEMBER')")
}

// TestMoveInRefused: what can't be carried is named before the first byte, all of it at once, and what was put right is
// followed.
func TestMoveInRefused(t *testing.T) {
	t.Parallel()
	source := newShop(t)
	source.ask("shop", "CREATE TABLE keyless (a int); SELECT lo_create(0); CREATE TRIGGER twice BEFORE INSERT ON counts "+
		"EXECUTE FUNCTION suppress_redundant_updates_trigger()")
	source.ask("shop", "ALTER TABLE counts ENABLE ALWAYS TRIGGER twice")
	s := newSite(t, source.options(1))
	var said *api.Source
	s.wait("the source is refused", func() bool {
		st := s.members[0].status()
		if st == nil || st.Server.Source == nil {
			return false
		}
		said = st.Server.Source
		return said.Refused
	})
	for _, want := range []string{"the table public.keyless has no primary key", "1 large objects", "the trigger twice"} {
		if !strings.Contains(said.Problem, want) {
			t.Errorf("it is refused because %q, which lacks %q", said.Problem, want)
		}
	}
	if got := source.ask("shop", "SELECT count(*) FROM pg_publication"); got[0][0] != "0" {
		t.Error("it was changed before it was refused")
	}
	source.ask("shop", "DROP TABLE keyless; SELECT lo_unlink(oid) FROM pg_largeobject_metadata; "+
		"DROP TRIGGER twice ON counts")
	p := s.followed("the source is followed")
	source.ask("shop", "ALTER TABLE names ADD COLUMN later int")
	s.wait("the change is named", func() bool {
		st := p.status()
		return st != nil && st.Server.Source != nil && strings.Contains(st.Server.Source.Problem,
			`definitions in the database "shop": columns`)
	})
	_, err := p.client.Cutover(t.Context(), api.Cutover{})
	if err == nil || !strings.Contains(err.Error(), "columns") {
		t.Errorf("a cut over without the new column: %v", err)
	}
	writers := source.sell(1)
	defer writers.end()
	s.wait("the source takes writes", func() bool { return writers.rows.Load() > 10 })
}

// TestMoveInCompared: rows that somebody deleted here are noticed before clients are let in, and the source goes on.
func TestMoveInCompared(t *testing.T) {
	t.Parallel()
	source := newShop(t)
	s := newSite(t, source.options(1))
	p := s.followed("the source is followed")
	if _, err := p.askIn("shop", "BEGIN READ WRITE; DELETE FROM names; COMMIT"); err != nil {
		t.Fatal(err)
	}
	names := source.ask("shop", "SELECT count(*) FROM names")[0][0]
	_, err := p.client.Cutover(t.Context(), api.Cutover{})
	if want := "the table public.names of its database \"shop\" has " + names + " rows, and 0 here"; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("a cut over with rows that are missing: %v, want %q", err, want)
	}
	source.ask("shop", "TRUNCATE names") // it takes writes
	s.wait("a cut over once they agree", func() bool {
		out, err := p.client.Cutover(t.Context(), api.Cutover{})
		return err == nil && out.Gap > 0
	})
}

// TestMoveInFailover kills the primary while it follows, and then the source: rows of the source are copied again where
// the next primary can't know that it has all of them.
func TestMoveInFailover(t *testing.T) {
	if !*allFlag && !torture() {
		t.Skip("-all is not set; make torture ENGINE=postgres runs it. TestMoveInKilled kills the primary that follows")
	}
	t.Parallel()
	source := newShop(t)
	writers := source.sell(2)
	defer writers.end()
	s := newSite(t, source.options(3))
	p := s.followed("the source is followed")
	p.kill()
	s.wait("another primary", func() bool { n := s.primary(); return n != nil && n != p })
	p.start()
	s.followed("the source is followed after a failover")
	source.kill()
	source.start()
	s.followed("the source is followed after its restart")
	out := s.cutOver(api.Cutover{})
	writers.end()
	t.Logf("nobody could write for %s; %d rows were acknowledged", out.Gap, writers.rows.Load())
	s.sold(source, writers)
}

// TestMoveInKilled kills the agent of the primary again and again while it cuts over, and the person asks again: no row
// is lost that the source acknowledged, and never do both take writes.
func TestMoveInKilled(t *testing.T) {
	t.Parallel()
	for i, after := range []time.Duration{100 * time.Millisecond, 300 * time.Millisecond, 600 * time.Millisecond,
		time.Second} {
		t.Run(after.String(), func(t *testing.T) {
			if (i == 0 || i == 3) && !*allFlag && !torture() {
				t.Skip("-all is not set")
			}
			t.Parallel()
			source := newShop(t)
			writers := source.sell(2)
			defer writers.end()
			s := newSite(t, source.options([]int{1, 3}[i%2]))
			p := s.followed("the source is followed")
			asked := make(chan error, 1)
			go func() {
				ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
				defer stop()
				_, err := p.client.Cutover(ctx, api.Cutover{})
				asked <- err
			}()
			time.Sleep(after)
			p.kill()
			t.Logf("the request that was cut off ended with %v", <-asked)
			p.start()
			s.cutOver(api.Cutover{})
			rows := writers.rows.Load()
			time.Sleep(200 * time.Millisecond)
			if now := writers.rows.Load(); now != rows {
				t.Errorf("the source acknowledged %d rows after the cut over", now-rows)
			}
			writers.end()
			s.sold(source, writers)
		})
	}
}

// logical is PostgreSQL whose log tells what another cluster needs to follow it.
type logical struct{ postgres }

func (l logical) values() map[string]string {
	values := l.postgres.values()
	values["wal_level"] = "logical"
	return values
}

// TestMoveInCluster moves from one cluster of agents to another one, by the way of its clients, while that fails over:
// the former cluster goes on as a cluster, closed to clients.
func TestMoveInCluster(t *testing.T) {
	if !*allFlag && !torture() {
		t.Skip("-all is not set; TestUpgradeOnline moves from such a cluster on Kubernetes, without its failover")
	}
	t.Parallel()
	former := newSite(t, options{durability: protocol.Preferred, members: 3, engine: logical{}})
	former.wait("a primary", func() bool { return former.primary() != nil })
	boss := api.NewUser{User: api.User{Name: "boss", Admin: true}, Password: stockPassword}
	seller := api.NewUser{User: api.User{Name: "seller", Role: "seller", Grants: []api.Grant{{}}},
		Password: stockPassword}
	for _, u := range []api.NewUser{boss, seller} {
		if err := former.awaitPrimary().client.EnsureUser(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
	table := "CREATE TABLE orders (id bigserial PRIMARY KEY, what text)"
	if _, err := former.awaitPrimary().askIn("app", table); err != nil {
		t.Fatal(err)
	}
	former.wait("all stream", former.whole)
	p, way := former.awaitPrimary(), former.members[0]
	if p == way {
		way = former.members[1]
	}
	secret, err := os.MkdirTemp(built, "secret") //nolint:usetesting // others may not read that one
	err = errors.Join(err, os.Chmod(secret, 0o755),
		os.WriteFile(filepath.Join(secret, "password"), []byte(stockPassword), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, options{durability: protocol.Preferred, members: 1, sourceSecret: secret, source: &protocol.Source{
		Address: "127.0.0.1:" + strconv.Itoa(way.clients), User: "boss"}})
	s.followed("the former cluster is followed")
	if _, err := former.awaitPrimary().askIn("app", "INSERT INTO orders (what) VALUES ('before')"); err != nil {
		t.Fatal(err)
	}
	p.kill()
	former.wait("another primary", func() bool { n := former.primary(); return n != nil && n != p })
	p.start()
	former.wait("all stream", former.whole)
	kept, err := p.ask("dbop", 5*time.Second, "SELECT slot_name FROM pg_replication_slots")
	if err != nil || len(kept) > 0 {
		t.Errorf("the former primary keeps its log for the slots %v: %v", kept, err)
	}
	s.followed("the former cluster is followed after its failover")
	if _, err := former.awaitPrimary().askIn("app", "INSERT INTO orders (what) VALUES ('after')"); err != nil {
		t.Fatal(err)
	}
	out := s.cutOver(api.Cutover{})
	t.Logf("nobody could write for %s", out.Gap)
	s.same("app", "SELECT what FROM orders ORDER BY id", [][]string{{"before"}, {"after"}})
	if _, err := former.awaitPrimary().askIn("app", "SELECT"); err == nil {
		t.Error("the former cluster lets somebody into its database")
	}
	former.wait("the former cluster is whole", former.whole)
}
