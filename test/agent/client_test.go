package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// password is that of the role app, which writes the rows.
const password = "a'b\"c d"

// row is a write that was acknowledged.
type row struct {
	id int
	// timeline and place are the server's: each generation has a timeline of its own.
	timeline   uint64
	place      uint64
	member     protocol.MemberID
	began, end time.Duration
}

// clients write at every member all the time, each row with another number.
type clients struct {
	site  *site
	began time.Time
	stop  context.CancelFunc
	all   sync.WaitGroup

	mu    sync.Mutex
	next  int
	acked []row
	// asked are the rows whose outcome may be anything.
	asked map[int]bool
}

// prepare makes the table and the role of the clients.
func (s *site) prepare() {
	s.t.Helper()
	p := s.primary()
	_, err := p.ask("dbop", time.Minute, "CREATE TABLE rows (id int PRIMARY KEY, timeline bigint); "+
		"CREATE ROLE app LOGIN PASSWORD '"+strings.ReplaceAll(password, "'", "''")+"'; GRANT ALL ON rows TO app; "+
		"GRANT EXECUTE ON FUNCTION pg_current_wal_insert_lsn() TO app")
	if err != nil {
		s.t.Fatal(err)
	}
}

// dial connects as a client does, or by the socket of the server as dbop.
func (m *member) dial(ctx context.Context, role string) (*pgconn.PgConn, error) {
	where := "host=127.0.0.1 password='" + strings.ReplaceAll(strings.ReplaceAll(password, `\`, `\\`), "'", `\'`) + "'"
	if role == "dbop" {
		where = "host=" + filepath.Join(m.site.dir, "s-"+string(m.id))
	}
	return pgconn.Connect(ctx, fmt.Sprintf("%s port=%d user=%s dbname=postgres sslmode=disable", where, m.port, role))
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

func (s *site) write() *clients {
	ctx, stop := context.WithCancel(context.Background())
	c := &clients{site: s, began: time.Now(), stop: stop, asked: map[int]bool{}}
	for _, m := range s.members {
		for range 2 {
			c.all.Go(func() { c.run(ctx, m) })
		}
	}
	return c
}

// run writes at one member, whether that is the primary or not.
func (c *clients) run(ctx context.Context, m *member) {
	var conn *pgconn.PgConn
	for ctx.Err() == nil {
		if conn == nil || conn.IsClosed() {
			dialling, stop := context.WithTimeout(ctx, time.Second)
			var err error
			conn, err = m.dial(dialling, "app")
			stop()
			if err != nil {
				conn = nil
				pause(ctx, 20*time.Millisecond)
				continue
			}
		}
		if err := c.insert(ctx, m, conn); err != nil {
			var refused *pgconn.PgError
			if errors.As(err, &refused) && refused.Code == "25006" { // read only
				pause(ctx, 20*time.Millisecond)
				continue
			}
			closing, stop := context.WithTimeout(context.Background(), 50*time.Millisecond)
			_ = conn.Close(closing)
			stop()
			conn = nil
		}
		pause(ctx, 2*time.Millisecond)
	}
	if conn != nil {
		closing, stop := context.WithTimeout(context.Background(), 50*time.Millisecond)
		_ = conn.Close(closing)
		stop()
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// insert adds one row. An answer with a warning is none: the server says so when it did not wait for standbys.
func (c *clients) insert(ctx context.Context, m *member, conn *pgconn.PgConn) error {
	c.mu.Lock()
	c.next++
	id := c.next
	c.asked[id] = true
	c.mu.Unlock()
	// A client waits as long as it takes; the bound only ends a session that leads nowhere.
	ctx, stop := context.WithTimeout(ctx, 15*time.Second)
	defer stop()
	began := time.Since(c.began)
	results, err := conn.Exec(ctx, "INSERT INTO rows VALUES ("+strconv.Itoa(id)+
		", ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::int) "+
		"RETURNING timeline, pg_current_wal_insert_lsn() - '0/0'").ReadAll()
	end := time.Since(c.began)
	if err != nil {
		return err
	}
	timeline, err1 := strconv.ParseUint(string(results[0].Rows[0][0]), 10, 64)
	place, err2 := strconv.ParseUint(string(results[0].Rows[0][1]), 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.acked = append(c.acked, row{id: id, timeline: timeline, place: place, member: m.id, began: began, end: end})
	return nil
}

// count returns how many rows were acknowledged.
func (c *clients) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.acked)
}

// flows waits until rows are acknowledged again, and returns how long that took.
func (c *clients) flows() time.Duration {
	c.site.t.Helper()
	before := c.count()
	return c.site.wait("writes are acknowledged", func() bool { return c.count() > before+3 })
}

// gap returns the longest time between two acknowledgements after a moment.
func (c *clients) gap(since time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	var ends []time.Duration
	for _, r := range c.acked {
		if r.end >= since {
			ends = append(ends, r.end)
		}
	}
	slices.Sort(ends)
	longest, last := time.Duration(0), since
	for _, e := range ends {
		longest, last = max(longest, e-last), e
	}
	return longest
}

// check stops the clients and compares what they were told with what the members hold.
func (c *clients) check(t *testing.T) {
	t.Helper()
	c.stop()
	c.all.Wait()
	s := c.site
	c.order(t)
	s.wait("every member streams", s.whole)
	var held map[int]bool
	for _, m := range s.members {
		rows := c.rows(m)
		if held == nil {
			held = rows
		}
		if !maps.Equal(held, rows) {
			t.Errorf("%s holds %d rows, %s %d", s.members[0].id, len(held), m.id, len(rows))
		}
	}
	for id := range held {
		if !c.asked[id] {
			t.Errorf("nobody wrote row %d", id)
		}
	}
	lost := map[uint64]int{}
	var bytes uint64
	last := map[uint64]uint64{}
	for _, r := range c.acked {
		if held[r.id] {
			last[r.timeline] = max(last[r.timeline], r.place)
		}
	}
	for _, r := range c.acked {
		if !held[r.id] {
			lost[r.timeline]++
			if r.place > last[r.timeline] {
				bytes = max(bytes, r.place-last[r.timeline])
			} else {
				t.Errorf("row %d of timeline %d at %d is lost, although one at %d is held", r.id, r.timeline, r.place,
					last[r.timeline])
			}
		}
	}
	t.Logf("%s: %d rows acknowledged, %d held, lost by timeline %v (at most %d bytes)", s.options.durability, len(c.acked),
		len(held), lost, bytes)
	if len(lost) > 0 && s.options.durability == protocol.Strict {
		t.Errorf("acknowledged rows are lost: %v", lost)
	}
	if bytes > s.settings.MaxLag {
		t.Errorf("%d bytes are lost, more than maxLag", bytes)
	}
}

// order checks that no two members acknowledged at the same time: once a row of a timeline was acknowledged, no row of
// an earlier timeline is, if it was written later.
func (c *clients) order(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	rows := slices.Clone(c.acked)
	slices.SortFunc(rows, func(a, b row) int { return int(a.began - b.began) })
	byEnd := slices.Clone(rows)
	slices.SortFunc(byEnd, func(a, b row) int { return int(a.end - b.end) })
	i := 0
	var newest row
	for _, r := range rows {
		for ; i < len(byEnd) && byEnd[i].end < r.began; i++ {
			if byEnd[i].timeline > newest.timeline {
				newest = byEnd[i]
			}
		}
		if r.timeline < newest.timeline {
			t.Errorf("%s acknowledged row %d on timeline %d, written %s after %s had acknowledged on timeline %d", r.member,
				r.id, r.timeline, r.began-newest.end, newest.member, newest.timeline)
			return
		}
	}
}

// rows waits until a member holds what the primary holds, and returns it.
func (c *clients) rows(m *member) map[int]bool {
	s := c.site
	var got [][]string
	s.wait("the rows of "+string(m.id), func() bool {
		p := s.primary()
		if p == nil {
			return false
		}
		end, err := p.ask("dbop", time.Second, "SELECT pg_current_wal_insert_lsn()")
		if err != nil {
			return false
		}
		if m != p {
			there, err := m.ask("dbop", time.Second, "SELECT pg_last_wal_replay_lsn() >= '"+end[0][0]+"'")
			if err != nil || there[0][0] != "t" {
				return false
			}
		}
		got, err = m.ask("dbop", 5*time.Second, "SELECT id FROM rows")
		return err == nil
	})
	held := map[int]bool{}
	for _, r := range got {
		id, err := strconv.Atoi(r[0])
		if err != nil {
			s.t.Fatal(err)
		}
		held[id] = true
	}
	return held
}

// whole says that there is a primary, that every other member streams from it, and that one set is in force.
func (s *site) whole() bool {
	p := s.primary()
	if p == nil {
		return false
	}
	st := p.status()
	if st == nil || st.Changing || len(st.Server.Standbys) < len(s.members)-1 {
		return false
	}
	if s.options.durability != protocol.Async && len(st.Set.Standbys) < len(s.members)-1 {
		return false
	}
	for _, m := range s.members {
		if o := m.status(); o == nil || o.Generation != st.Generation || m != p && o.Server.Upstream != p.id {
			return false
		}
	}
	return true
}
