package agent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// copyTime bounds a copy of all data while clients write, on a machine that does much else.
const copyTime = 4 * time.Minute

// followed waits until the primary follows the source, all members copy it, and nothing is behind much.
func (s *site) followed(what string) *member {
	s.t.Helper()
	var p *member
	took := s.waitWithin(copyTime, what, func() bool {
		if p = s.primary(); p == nil {
			return false
		}
		st := p.status()
		return st != nil && st.Server.Source != nil && st.Server.Source.Linked && st.Server.Source.Lag < 1<<16 &&
			len(st.Server.Standbys) == len(s.members)-1
	})
	s.t.Logf("%s: after %s", what, took.Round(10*time.Millisecond))
	return p
}

// cutOver asks until it is done.
func (s *site) cutOver(c api.Cutover) (out api.CutOver) {
	s.t.Helper()
	var last error
	s.wait("cut over", func() bool {
		p := s.primary()
		if p == nil {
			return false
		}
		ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
		defer stop()
		if out, last = p.client.Cutover(ctx, c); last != nil {
			s.t.Log(last)
		}
		if last != nil && strings.Contains(last.Error(), "already exists") {
			s.t.Error("what an earlier cut over left is in the way of this one")
		}
		return last == nil
	})
	return out
}

func sourceOf(t *testing.T, release, more string) (*stock, options) {
	source := newStock(t, release, more)
	secret := filepath.Join(built, "secret-"+strconv.Itoa(source.port))
	if err := os.MkdirAll(secret, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(secret, "password"), []byte(stockPassword+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return source, options{durability: protocol.Preferred, members: 3, engine: valkey{}, sourceSecret: secret,
		source: &protocol.Source{Address: "127.0.0.1:" + strconv.Itoa(source.port)}}
}

// TestSource moves in from a server that something else made, with a writer: its first primary is killed meanwhile, and
// then the source is, which comes back with another history. Each row that the source acknowledged is there after the
// cut over, and so are users who were made meanwhile. It has a bound in seconds, so it runs beside no other test.
func TestSource(t *testing.T) {
	source, o := sourceOf(t, "redis-7", "")
	o.source.Address = source.lagging(200 * time.Millisecond)
	writer := source.write()
	defer writer.end()
	s := newSite(t, o)
	p := s.followed("the source is followed")
	ctx := t.Context()
	user := api.NewUser{User: api.User{Name: "moved", Grants: []api.Grant{{}}}, Password: "moved-password"}
	boss := api.NewUser{User: api.User{Name: "boss", Admin: true}, Password: "boss-password"}
	for _, u := range []api.NewUser{user, boss} {
		if err := p.client.EnsureUser(ctx, u); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.insertAt(p); err == nil || !strings.HasPrefix(err.Error(), "READONLY") {
		t.Errorf("a client writes to a cluster that follows: %v", err)
	}
	time.Sleep(4 * time.Second) // the others learn the users
	before := copies(t, source)
	p.kill()
	s.wait("another primary", func() bool { n := s.primary(); return n != nil && n != p })
	p.start()
	p = s.followed("the source is followed after a failover")
	if now := copies(t, source); now != before {
		t.Errorf("the failover copied all data of the source: %d copies before, %d after", before, now)
	}
	source.kill()
	source.start()
	p = s.followed("the source is followed after its restart")
	if got, err := p.client.TestLogin(ctx, user.Name, user.Password); err != nil || !got {
		t.Errorf("the user that was made may not log in: %v", err)
	}
	gap := s.cutOver(api.Cutover{})
	t.Logf("writes stopped for %s, %d rows were acknowledged", gap.Gap, writer.rows.Load())
	if gap.Gap > 5*time.Second || gap.Gap <= 0 || gap.Paused < time.Minute {
		t.Errorf("the answer is %+v", gap)
	}
	rows := writer.rows.Load()
	time.Sleep(200 * time.Millisecond)
	if now := writer.rows.Load(); now != rows {
		t.Errorf("the source acknowledged %d rows after the cut over", now-rows)
	}
	writer.end()
	s.compare(writer)
	s.wait("the users are in the data", func() bool { return s.libraryOf(boss) })
	again := s.cutOver(api.Cutover{})
	if again.Gap != 0 {
		t.Errorf("a second request answers %+v", again)
	}
	p = s.awaitPrimary()
	if got, err := p.client.TestLogin(ctx, user.Name, user.Password); err != nil || !got {
		t.Errorf("the user that was made may not log in after the cut over: %v", err)
	}
	p.kill()
	s.wait("another primary after the cut over", func() bool { n := s.primary(); return n != nil && n != p })
	p.start()
	s.compare(writer)
	s.wait("the user is there after a failover", func() bool {
		n := s.primary()
		if n == nil {
			return false
		}
		got, err := n.client.TestLogin(ctx, user.Name, user.Password)
		return err == nil && got
	})
	s.wait("all stream", s.whole)
}

// libraryOf says whether the primary holds the users among its functions, as an administrator sees them.
func (s *site) libraryOf(admin api.NewUser) bool {
	p := s.primary()
	if p == nil {
		return false
	}
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	c, err := s.engine.dial(ctx, p)
	if err != nil {
		return false
	}
	defer c.close()
	r := c.(*redisSession)
	if _, err := r.do(ctx, "AUTH", admin.Name, admin.Password); err != nil {
		return false
	}
	got, err := r.do(ctx, "FUNCTION", "DUMP")
	return err == nil && strings.Contains(got[0], "dbop_users")
}

// stat reads a count.
func stat(t *testing.T, s *stock, name string) int {
	t.Helper()
	c, err := s.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	got := c.says(t, "INFO", "stats")
	for line := range strings.Lines(got) {
		if n, found := strings.CutPrefix(strings.TrimSpace(line), name); found {
			count, _ := strconv.Atoi(n)
			return count
		}
	}
	return -1
}

// insertAt tries to write as a client.
func (s *site) insertAt(m *member) (string, error) {
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	c, err := s.engine.dial(ctx, m)
	if err != nil {
		return "", err
	}
	defer c.close()
	got, err := c.(*redisSession).do(ctx, "SADD", "rows", "0")
	return strings.Join(got, " "), err
}

// compare wants each acknowledged row at the primary.
func (s *site) compare(a *acknowledged) {
	s.t.Helper()
	var held map[int]bool
	s.wait("rows are read", func() bool {
		p := s.primary()
		if p == nil {
			return false
		}
		var err error
		held, err = s.engine.rows(p, p)
		return err == nil
	})
	var lost []int
	for id := range a.all {
		if !held[id] {
			lost = append(lost, id)
		}
	}
	slices.Sort(lost)
	if len(lost) > 0 {
		s.t.Errorf("%d of %d acknowledged rows are lost, from %d", len(lost), len(a.all), lost[0])
	}
}

// TestSourceTLS moves in by TLS, as a user who may replicate and nothing else: a person stops the writers. Who goes
// on is noticed.
func TestSourceTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	encrypted := freePorts(t, 1)[0]
	a := newAuthority(t, day)
	f := a.files(t, filepath.Join(dir, "source"), "localhost")
	source, o := sourceOf(t, "valkey-8", fmt.Sprintf("tls-port %d\ntls-cert-file %s\ntls-key-file %s\n"+
		"tls-ca-cert-file %s\ntls-auth-clients no\nuser mover on >%s +psync +replconf +ping +info\n", encrypted,
		f["certificate"], f["key"], f["authority"], stockPassword))
	raw, err := os.ReadFile(f["authority"])
	if err == nil {
		err = os.WriteFile(filepath.Join(o.sourceSecret, "ca.crt"), raw, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	o.source = &protocol.Source{Address: "localhost:" + strconv.Itoa(encrypted), User: "mover", TLS: true}
	writer := source.write()
	defer writer.end()
	s := newSite(t, o)
	p := s.followed("the source is followed by TLS")
	ask := func(stopped bool) string {
		ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
		defer stop()
		out, err := p.client.Cutover(ctx, api.Cutover{Stopped: stopped})
		if err != nil || out.Gap > 0 {
			t.Errorf("the answer is %+v: %v", out, err)
		}
		return out.Forbidden
	}
	if got := ask(false); !strings.Contains(got, "NOPERM") {
		t.Errorf("a user who may not pause writes is answered %q", got)
	}
	if got := ask(true); !strings.Contains(got, "still writes") {
		t.Errorf("while somebody writes the answer is %q", got)
	}
	writer.end()
	out := s.cutOver(api.Cutover{Stopped: true})
	t.Logf("it took %s, %d rows were acknowledged", out.Gap, writer.rows.Load())
	if out.Paused != 0 || out.Gap <= 0 {
		t.Errorf("the answer is %+v", out)
	}
	s.compare(writer)
}

// TestSourceRefused: data that the server can't read does not come, and a source that changes is followed then.
func TestSourceRefused(t *testing.T) {
	t.Parallel()
	source, o := sourceOf(t, "redis-8", "")
	o.members = 1
	s := newSite(t, o)
	m := s.members[0]
	var said *api.Source
	s.wait("the source is refused", func() bool {
		st := m.status()
		if st == nil || st.Server.Source == nil {
			return false
		}
		said = st.Server.Source
		return said.Refused
	})
	if !strings.Contains(said.Problem, "Redis 8.") || !strings.Contains(said.Problem, "format 12") {
		t.Errorf("it is refused because %q", said.Problem)
	}
	if n := copies(t, source); n != 0 {
		t.Errorf("it sent its data %d times", n)
	}
	source.kill()
	s.wait("the source is gone", func() bool {
		st := m.status()
		return st != nil && st.Server.Source != nil && !st.Server.Source.Refused && st.Server.Source.Problem != ""
	})
	source.release, source.dir = "redis-7", t.TempDir()
	source.start()
	s.followed("another source is followed")
}

// TestSourceKilled kills the agent of the primary again and again while it cuts over, and the person asks again: no row
// is lost that the source acknowledged, and never do both take writes.
func TestSourceKilled(t *testing.T) {
	t.Parallel()
	for i, after := range []time.Duration{0, 5 * time.Millisecond, 15 * time.Millisecond, 40 * time.Millisecond} {
		t.Run(after.String(), func(t *testing.T) {
			t.Parallel()
			source, o := sourceOf(t, []string{"redis-7", "valkey-8"}[i%2], "")
			writer := source.write()
			defer writer.end()
			s := newSite(t, o)
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
			writer.end()
			s.compare(writer)
		})
	}
}

// TestSourceIdle: a source that nobody writes to says something every ten seconds alone, and is followed all the same.
func TestSourceIdle(t *testing.T) {
	t.Parallel()
	source, o := sourceOf(t, "redis-7", "")
	s := newSite(t, o)
	s.followed("the source is followed")
	s.wait("all stream", s.whole)
	before := connected(t, source)
	for until := time.Now().Add(25 * time.Second); time.Now().Before(until); time.Sleep(500 * time.Millisecond) {
		if !s.whole() {
			t.Fatalf("not all stream any more:\n%s", s.describe())
		}
	}
	if now := connected(t, source); now != before {
		t.Errorf("the source was asked to go on %d times", now-before)
	}
	s.cutOver(api.Cutover{})
	s.wait("all stream", s.whole)
}

// connected says how many times a server went on with a replica.
func connected(t *testing.T, s *stock) int { return stat(t, s, "sync_partial_ok:") }

// copies says how many times a server sent all its data.
func copies(t *testing.T, s *stock) int { return stat(t, s, "sync_full:") }
