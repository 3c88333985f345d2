package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// pair is a cluster, and the one that is a copy of it: clients write to whichever lets them in.
type pair struct {
	t         *testing.T
	old, next *site

	mu sync.Mutex
	// acknowledged are the rows that a client was told are written, twice the numbers that were given to two.
	acknowledged map[int]bool
	twice        []int
	rows         atomic.Int64
	stop         context.CancelFunc
	stopped      sync.WaitGroup
}

// way is where clients of a site connect to: an agent that passes them on to the primary, not its own if there is
// another.
func (s *site) way() string {
	for _, m := range s.members {
		if m != s.primary() {
			return "127.0.0.1:" + strconv.Itoa(m.clients)
		}
	}
	return "127.0.0.1:" + strconv.Itoa(s.members[0].clients)
}

// leader waits for the primary of a site.
func (s *site) leader() (p *member) {
	s.t.Helper()
	s.wait("a primary", func() bool { p = s.primary(); return p != nil })
	return p
}

// newPair makes a cluster with tables, whose clients write, and another one that follows it.
func newPair(t *testing.T, members, copies int, former, later engine) *pair {
	t.Helper()
	p := &pair{t: t, acknowledged: map[int]bool{}}
	p.old = newSite(t, options{durability: protocol.Preferred, members: members, engine: former})
	boss := api.NewUser{User: api.User{Name: "boss", Admin: true}, Password: stockPassword}
	seller := api.NewUser{User: api.User{Name: "seller", Role: "seller", Grants: []api.Grant{{}}},
		Password: stockPassword}
	for _, u := range []api.NewUser{boss, seller} {
		if err := p.old.leader().client.EnsureUser(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.old.leader().askIn("app", "SET ROLE dbop_owner_app; "+shop); err != nil {
		t.Fatal(err)
	}
	if _, err := p.old.leader().askIn("postgres", "CREATE DATABASE empty"); err != nil {
		t.Fatal(err)
	}
	p.old.wait("all stream", p.old.whole)
	secret, err := os.MkdirTemp(built, "secret") //nolint:usetesting // others may not read that one
	err = errors.Join(err, os.Chmod(secret, 0o755),
		os.WriteFile(filepath.Join(secret, "password"), []byte(stockPassword), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	p.next = newSite(t, options{durability: protocol.Preferred, members: copies, engine: later, sourceSecret: secret,
		source: &protocol.Source{Address: p.old.way(), User: "boss"}})
	p.sell(3)
	p.next.followed("the former cluster is followed")
	return p
}

// sell has clients write at the cluster that lets them in.
func (p *pair) sell(writers int) {
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	ways := []string{p.old.way(), p.next.way()}
	for i := range writers {
		p.stopped.Go(func() {
			for n := i; ctx.Err() == nil; n++ {
				host, port, _ := strings.Cut(ways[n%2], ":")
				c, err := pgconn.Connect(ctx, fmt.Sprintf("host=%s port=%s user=seller dbname=app sslmode=disable password=%s "+
					"connect_timeout=2", host, port, stockPassword))
				for err == nil && ctx.Err() == nil {
					err = p.sellOne(ctx, c, i)
					time.Sleep(time.Millisecond)
				}
				if c != nil {
					_ = c.Close(ctx)
				}
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
	p.t.Cleanup(p.end)
}

// sellOne writes one row, and counts it in another one.
func (p *pair) sellOne(ctx context.Context, c *pgconn.PgConn, i int) error {
	ctx, done := context.WithTimeout(ctx, 10*time.Second)
	defer done()
	got, err := rowsOf(ctx, c, "BEGIN READ WRITE; UPDATE counts SET n = n + 1 WHERE id = "+strconv.Itoa(i)+
		"; INSERT INTO orders (what) VALUES ('row'); COMMIT; SELECT lastval()")
	if err != nil {
		return err
	}
	id, err := strconv.Atoi(got[0][0])
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.acknowledged[id] {
		p.twice = append(p.twice, id)
	}
	p.acknowledged[id] = true
	p.rows.Add(1)
	return nil
}

func (p *pair) end() {
	p.stop()
	p.stopped.Wait()
}

// more waits until clients have written more rows.
func (p *pair) more(what string) {
	p.t.Helper()
	before := p.rows.Load()
	took := p.old.wait("clients write "+what, func() bool { return p.rows.Load() > before+100 })
	p.t.Logf("clients write %s: after %s", what, took.Round(time.Millisecond))
}

// isolate cuts a member off from the others of its cluster, or ends that.
func (s *site) isolate(m *member, yes bool) {
	for _, o := range s.members {
		if o != m {
			s.links[[2]id{m.id, o.id}].set(yes)
			s.links[[2]id{o.id, m.id}].set(yes)
		}
	}
}

// goBack has the former cluster follow the later one.
func (p *pair) goBack() *member {
	p.t.Helper()
	p.follow()
	return p.old.followed("the later cluster is followed")
}

// follow asks until it is agreed.
func (p *pair) follow() {
	p.t.Helper()
	var last error
	p.old.wait("it is agreed to follow", func() bool {
		m := p.old.primary()
		if m == nil {
			return false
		}
		ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
		defer stop()
		done, err := m.client.Follow(ctx, api.Follow{Address: p.next.way()})
		if err == nil && done.NoBack != "" {
			p.t.Fatalf("there is no way back: %s", done.NoBack)
		}
		if last = err; last != nil {
			p.t.Log(last)
		}
		return last == nil
	})
}

// kept wants each acknowledged row at a site, and what its other tables hold.
func (p *pair) kept(s *site) {
	p.t.Helper()
	held, err := s.leader().askIn("app", "SELECT id FROM orders")
	if err != nil {
		p.t.Fatal(err)
	}
	here := map[int]bool{}
	for _, row := range held {
		id, _ := strconv.Atoi(row[0])
		here[id] = true
	}
	for id := range p.acknowledged {
		if !here[id] {
			p.t.Errorf("the acknowledged row %d is lost", id)
		}
	}
	if len(p.twice) > 0 {
		p.t.Errorf("the numbers %v were given twice", p.twice)
	}
	counted, err := s.leader().askIn("app", "SELECT (SELECT sum(n) FROM counts) - (SELECT count(*) FROM orders), "+
		"(SELECT count(*) FROM parts), (SELECT count(*) FROM names)")
	if err != nil || strings.Join(counted[0], " ") != "0 100 2" {
		p.t.Errorf("orders are counted wrong, or other rows differ: %v, %v", counted, err)
	}
	p.t.Logf("%d rows were acknowledged", len(p.acknowledged))
}

// TestMoveBack moves from one cluster to another one and back, with clients who go on: the former one follows the later
// one from the very point of the cut over, fails over meanwhile, and takes the clients again. No acknowledged row is
// lost.
func TestMoveBack(t *testing.T) {
	if !*allFlag && !torture() {
		t.Skip("-all is not set; TestUpgradeOnline goes back on Kubernetes, without a failover")
	}
	t.Parallel()
	p := newPair(t, 3, 1, logical{}, logical{})
	p.more("at the former cluster")
	out := p.next.cutOver(api.Cutover{Back: true})
	t.Logf("nobody could write for %s; %s", out.Gap, out.Compared)
	p.more("at the later cluster")
	m := p.goBack()
	_, err := m.dialIn(t.Context(), "seller", "app")
	if refused := (*pgconn.PgError)(nil); !errors.As(err, &refused) || refused.Code != "28000" {
		t.Errorf("a client is let in before the cut over back: %v", err)
	}
	p.follow() // again has no effect
	p.more("while the former cluster follows")
	// What it applies now no standby holds.
	p.old.isolate(m, true)
	p.old.wait("another primary", func() bool { n := p.old.primary(); return n != nil && n != m })
	p.old.isolate(m, false)
	p.more("after a failover of the former cluster")
	p.old.followed("the later cluster is followed after a failover")
	out = p.old.cutOver(api.Cutover{Back: true})
	t.Logf("nobody could write for %s; %s", out.Gap, out.Compared)
	if !strings.Contains(out.Compared, "every table") {
		t.Errorf("it was compared: %q", out.Compared)
	}
	p.more("at the former cluster again")
	p.end()
	p.kept(p.old)
	if _, err := p.next.leader().askIn("app", "SELECT"); err == nil {
		t.Error("the later cluster lets somebody into its database")
	}
	p.old.wait("the former cluster is whole", p.old.whole)
}
