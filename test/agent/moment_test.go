package agent

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	contract "github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/helper"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
)

// logging is Valkey or Redis whose agents keep a log for the archive.
type logging struct{ valkey }

func (l logging) values() map[string]string {
	v := l.valkey.values()
	v["archive-timeout"] = "2s"
	return v
}

// journal is what one client wrote, one transaction after the other.
type journal struct {
	mu sync.Mutex
	// began is when each was sent, confirmed when a replica had it too; zero if that is not known.
	began, confirmed []time.Time
}

// journalDatabases take the transactions one after the other.
const journalDatabases = 3

// write adds transactions until the context is done.
func (st *journal) write(ctx context.Context, s *site) {
	var conn *redisSession
	for ctx.Err() == nil {
		if conn == nil {
			if p := s.primary(); p != nil {
				dialling, stop := context.WithTimeout(ctx, time.Second)
				if c, err := s.engine.dial(dialling, p); err == nil {
					conn = c.(*redisSession)
				}
				stop()
			}
			if conn == nil {
				pause(ctx, 20*time.Millisecond)
				continue
			}
		}
		if err := st.one(ctx, conn); err != nil {
			conn.close()
			conn = nil
		}
		pause(ctx, 3*time.Millisecond)
	}
}

func (st *journal) one(ctx context.Context, conn *redisSession) error {
	st.mu.Lock()
	n := len(st.began)
	st.began, st.confirmed = append(st.began, time.Now()), append(st.confirmed, time.Time{})
	st.mu.Unlock()
	id := strconv.Itoa(n)
	ctx, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	// A script writes what it does; a key expires; large values go over the ends of pieces.
	script := "redis.call('INCR', KEYS[1]) return redis.call('RPUSH', KEYS[2], ARGV[1])"
	for _, command := range [][]string{
		{"SELECT", strconv.Itoa(n % journalDatabases)}, {"MULTI"}, {"INCR", "count"}, {"SADD", "rows", id},
		{"EVAL", script, "2", "scripted", "list", id}, {"SET", "short:" + id, strings.Repeat("x", n%5000), "PX", "1500"},
		{"APPEND", "log", id + ","}, {"EXEC"},
	} {
		if _, err := conn.do(ctx, command...); err != nil {
			return err
		}
	}
	acknowledged, err := conn.do(ctx, "WAIT", "1", "3000")
	if err == nil && acknowledged[0] == "0" {
		err = errors.New("no replica confirmed it")
	}
	if err == nil {
		st.mu.Lock()
		st.confirmed[n] = time.Now()
		st.mu.Unlock()
	}
	return err
}

// held reads the transactions that a restored member has, and holds that each is whole and there once.
func (st *journal) held(t *testing.T, s *site, m *member) map[int]bool {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	c, err := s.engine.dial(ctx, m)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	conn := c.(*redisSession)
	ask := func(args ...string) []string {
		got, err := conn.do(ctx, args...)
		if err != nil && !strings.Contains(err.Error(), "empty") {
			t.Fatal(err)
		}
		return got
	}
	all := map[int]bool{}
	for db := range journalDatabases {
		ask("SELECT", strconv.Itoa(db))
		var log []string
		if got := ask("GET", "log"); len(got) > 0 && got[0] != "" {
			log = strings.Split(strings.TrimSuffix(got[0], ","), ",")
		}
		if list := ask("LRANGE", "list", "0", "-1"); !slices.Equal(list, log) {
			t.Errorf("database %d: what scripts wrote and what transactions wrote differ", db)
		}
		rows := ask("SMEMBERS", "rows")
		for _, key := range []string{"count", "scripted"} {
			if got := ask("GET", key); len(log) > 0 && (len(got) == 0 || got[0] != strconv.Itoa(len(log))) {
				t.Errorf("database %d: %s is %v after %d transactions", db, key, got, len(log))
			}
		}
		if len(rows) != len(log) {
			t.Errorf("database %d has %d rows after %d transactions", db, len(rows), len(log))
		}
		for _, id := range log {
			n, err := strconv.Atoi(id)
			if err != nil || all[n] || !slices.Contains(rows, id) {
				t.Errorf("database %d: transaction %q is there twice, or not whole", db, id)
			}
			all[n] = true
		}
	}
	return all
}

// check holds that what is there was written up to a point, which is at most some time before a moment.
func (st *journal) check(t *testing.T, held map[int]bool, at time.Time, late time.Duration) {
	t.Helper()
	st.mu.Lock()
	defer st.mu.Unlock()
	t.Logf("%d transactions are there at %s, %d were started", len(held), at.Format(time.TimeOnly), len(st.began))
	missing := -1
	for n, began := range st.began {
		confirmed := !st.confirmed[n].IsZero()
		switch {
		case held[n] && began.After(at):
			t.Errorf("transaction %d is there, which began %s after the moment", n, began.Sub(at))
		case held[n] && missing >= 0:
			t.Errorf("transaction %d is there, and not %d before it", n, missing)
		case !held[n] && confirmed && st.confirmed[n].Before(at.Add(-late)):
			t.Fatalf("transaction %d is not there, which was confirmed %s before the moment", n, at.Sub(st.confirmed[n]))
		case !held[n] && confirmed && missing < 0:
			missing = n
		}
	}
}

// TestValkeyMoment restores moments of a database that is written all the time, through failovers and a switchover.
func TestValkeyMoment(t *testing.T) {
	t.Parallel()
	s := newSite(t, options{durability: protocol.Strict, members: 3, engine: logging{}})
	s.wait("all to stream", func() bool { return s.primary() != nil && s.whole() })
	collector := s.collector(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- collector.Run(ctx) }()
	var st journal
	writing, rest := context.WithCancel(t.Context())
	var writer sync.WaitGroup
	writer.Go(func() { st.write(writing, s) })
	time.Sleep(2 * time.Second)
	var moments []time.Time
	phase := func() {
		began := time.Now()
		time.Sleep(4 * time.Second)
		moments = append(moments, began.Add(time.Duration(rand.Int64N(int64(time.Since(began))))))
	}
	p := s.awaitPrimary()
	backups := []string{"replica", "primary", "later"}
	facts := []contract.SnapshotFacts{s.facts(s.other(p), backups[0]), s.facts(p, backups[1])}
	phase()
	for i := range 2 {
		p = s.awaitPrimary()
		if i == 0 {
			p.kill()
		} else {
			p.stop()
		}
		s.wait("another primary", func() bool { n := s.primary(); return n != nil && n != p })
		moments = append(moments, time.Now().Add(300*time.Millisecond)) // all from before is in it
		p.start()
		s.wait("all to stream", func() bool { return s.primary() != nil && s.whole() })
		if i == 0 {
			facts = append(facts, s.facts(s.other(s.awaitPrimary()), backups[2]))
		}
		phase()
	}
	rest()
	writer.Wait()
	end := time.Now()
	for i := range facts {
		s.wait("the log to be archived", func() bool {
			w := s.window(t, collector, facts[i])
			return w.To.After(end)
		})
		if w := s.window(t, collector, facts[i]); w.Gap != "" {
			t.Errorf("the window of %s is %+v", backups[i], w)
		}
	}
	s.wait("all members to let go", func() bool {
		files, err := collector.Source.WaitingLog(t.Context())
		return err == nil && len(files) <= 2
	})
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	restore := func(i int, at time.Time) {
		t.Run(fmt.Sprintf("%s-%d", backups[i], at.Unix()), func(t *testing.T) {
			r := newSite(t, options{durability: protocol.Async, members: 1, engine: valkey{}})
			w := s.window(t, collector, facts[i])
			target := v1alpha1.RecoveryTarget{Time: v1alpha1.TargetLatest, Timeline: w.Timeline}
			if !at.IsZero() {
				target.Time = at.Format(time.RFC3339Nano)
			}
			m := r.forwardBy(s, collector, backups[i], contract.ForwardTo{Target: target})
			late := 1500 * time.Millisecond
			if at.IsZero() {
				at, late = end, 0
			}
			st.check(t, st.held(t, r, m), at, late)
		})
	}
	for i := range facts {
		first := 0
		if i == 2 {
			first = 3
		}
		for _, at := range moments[first:] {
			restore(i, at)
		}
	}
	restore(0, time.Time{})
}

// other is a member besides one.
func (s *site) other(p *member) *member {
	return s.members[slices.IndexFunc(s.members, func(m *member) bool { return m != p })]
}

// forwardBy starts the first member on a backup of another site that was brought to a moment by an archive.
func (s *site) forwardBy(of *site, c *helper.Collector, backup string, to contract.ForwardTo) *member {
	s.t.Helper()
	all, err := c.Log.Segments(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	to.Log, to.Scratch = bucket.LogFiles(all), s.t.TempDir()
	files := c.Log.Reader(all)
	to.Read = func(ctx context.Context, name string) ([]byte, error) {
		return files.Read(ctx, s.engine.tool().LogTimeline(name), name)
	}
	return s.restoreWith(filepath.Join(of.dir, backup), func(m *member) error {
		return s.engine.tool().Forward(s.t.Context(), filepath.Join(m.directory, "data"), to)
	})
}
