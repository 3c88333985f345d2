package agent

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	contract "github.com/dbop-dev/kubectl-dbop/pkg/engine"
	engines "github.com/dbop-dev/kubectl-dbop/pkg/engine/postgres"
	"github.com/dbop-dev/kubectl-dbop/pkg/helper"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
)

// ledger is what several clients wrote at once, by their names and numbers.
type ledger struct {
	mu  sync.Mutex
	all map[string]entry
	// xids are the numbers of the transactions that the database has in the end. Those of others say nothing: the next
	// primary gives them again.
	xids map[string]string
}

// entry is one transaction of a client.
type entry struct {
	began time.Time
	// acknowledged is when its commit was answered; zero if that is not known.
	acknowledged time.Time
	rolledBack   bool
}

// ledgerTables has a row of each transaction, and what each client changed last.
const ledgerTables = "CREATE TABLE ledger (client int, n int, xid xid8); " +
	"CREATE TABLE counters AS SELECT client, 0 AS n FROM generate_series(0, 3) AS client; " +
	"CREATE ROLE app LOGIN PASSWORD 'a''b\"c d'; GRANT ALL ON ledger, counters TO app"

// ledgerClients is how many write.
const ledgerClients = 4

// write adds transactions of one client until the context is done.
func (l *ledger) write(ctx context.Context, s *site, client int) {
	var conn *pgconn.PgConn
	for n := 1; ctx.Err() == nil; n++ {
		if conn == nil {
			if p := s.primary(); p != nil {
				dialling, stop := context.WithTimeout(ctx, time.Second)
				if c, err := p.dial(dialling, "app"); err == nil {
					conn = c
				}
				stop()
			}
		}
		if conn != nil && l.one(ctx, conn, client, n) != nil {
			closing, stop := context.WithTimeout(context.Background(), 50*time.Millisecond)
			_ = conn.Close(closing)
			stop()
			conn = nil
		}
		pause(ctx, 2*time.Millisecond)
	}
}

// one is a transaction. Some have a part that is taken back, some are taken back as a whole.
func (l *ledger) one(ctx context.Context, conn *pgconn.PgConn, client, n int) error {
	ctx, stop := context.WithTimeout(ctx, 15*time.Second)
	defer stop()
	key := fmt.Sprintf("%d:%d", client, n)
	e := entry{began: time.Now(), rolledBack: n%7 == 0}
	l.note(key, e)
	insert := fmt.Sprintf("INSERT INTO ledger VALUES (%d, %d, pg_current_xact_id()); ", client, n)
	update := fmt.Sprintf("UPDATE counters SET n = %d WHERE client = %d; ", n, client)
	if n%3 == 0 {
		update = "SAVEPOINT a; " + insert + "ROLLBACK TO a; SAVEPOINT b; " + update + "RELEASE b; "
	}
	end := "COMMIT"
	if e.rolledBack {
		end = "ROLLBACK"
	}
	if _, err := conn.Exec(ctx, "BEGIN; "+insert+update+end).ReadAll(); err != nil {
		return err
	}
	if !e.rolledBack {
		e.acknowledged = time.Now()
		l.note(key, e)
	}
	return nil
}

func (l *ledger) note(key string, e entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all[key] = e
}

const ledgerRows = "SELECT client || ':' || n, xid FROM ledger"

// end reads what the database has in the end: all that was acknowledged.
func (l *ledger) end(t *testing.T, p *member) {
	t.Helper()
	got, err := p.ask("dbop", time.Minute, ledgerRows)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range got {
		l.xids[row[0]] = row[1]
	}
	for key, e := range l.all {
		if _, there := l.xids[key]; !there && !e.acknowledged.IsZero() {
			t.Errorf("transaction %s was acknowledged, and is lost", key)
		}
	}
}

// expected are the transactions that a target must bring, by their numbers, as pg_waldump tells the archived log. The
// log has ends of transactions in an order that is not always that of their times: what counts is the first one that
// goes past the target, as the manual of recovery_target_time has it.
func expected(ends []ending, to v1alpha1.RecoveryTarget) (map[string]bool, error) {
	at, err := time.Parse(time.RFC3339Nano, to.Time)
	if to.Time != "" && err != nil {
		return nil, err
	}
	all := map[string]bool{}
	for _, e := range ends {
		reached := to.LSN == e.lsn || to.Transaction == e.xid || to.Time != "" && e.at.Equal(at)
		if reached && to.Exclusive || to.Time != "" && e.at.After(at) {
			return all, nil
		}
		if e.committed {
			all[e.xid] = true
		}
		if reached && to.Time == "" {
			return all, nil
		}
	}
	return nil, errors.New("the log ends before the target")
}

// check compares what a restored database has with what the log has, and with what clients were told.
func (l *ledger) check(t *testing.T, d data, want map[string]bool, to v1alpha1.RecoveryTarget, at time.Time) {
	t.Helper()
	got := d.ask(t, installed(t), [2]string{"postgres", ledgerRows}, [2]string{"postgres",
		"SELECT count(*) FROM counters c WHERE n <> (SELECT coalesce(max(n), 0) FROM ledger l WHERE l.client = c.client)"})
	if got[1] != "0" {
		t.Errorf("%s clients have another number than that of their last transaction", got[1])
	}
	held := map[string]string{}
	for row := range slices.Chunk(strings.Fields(got[0]), 2) {
		if held[row[0]] != "" {
			t.Errorf("transaction %s is there twice", row[0])
		}
		held[row[0]] = row[1]
		if l.xids[row[0]] != row[1] {
			t.Errorf("transaction %s has number %s, and %q in the end", row[0], row[1], l.xids[row[0]])
		}
	}
	t.Logf("%d of %d transactions are there", len(held), len(l.xids))
	for key, xid := range l.xids {
		if there := held[key] != ""; there != want[xid] {
			t.Errorf("transaction %s (number %s) is there: %t, by the log it should be: %t", key, xid, there, want[xid])
		}
	}
	for key, e := range l.all {
		switch there := held[key] != ""; {
		case there && e.rolledBack:
			t.Errorf("transaction %s was rolled back, and is there", key)
		case there && to.Time != "" && e.began.After(at):
			t.Errorf("transaction %s is there, which began %s after the moment", key, e.began.Sub(at))
		case !there && !e.acknowledged.IsZero() && e.acknowledged.Before(at):
			t.Errorf("transaction %s is not there, which was acknowledged %s before the moment", key,
				at.Sub(e.acknowledged))
		}
	}
}

// randomTarget is a moment, a commit's time, its place, or its number.
func randomTarget(random *rand.Rand, ends []ending, first, last time.Time) (v1alpha1.RecoveryTarget, time.Time) {
	at := first.Add(time.Duration(random.Int64N(int64(last.Sub(first))))).Truncate(time.Microsecond)
	to := v1alpha1.RecoveryTarget{Exclusive: random.IntN(2) == 0}
	commits := slices.DeleteFunc(slices.Clone(ends), func(e ending) bool { return !e.committed || e.at.Before(at) })
	switch kind := random.IntN(5); {
	case kind <= 1 || len(commits) == 0:
		to.Time = at.UTC().Format(time.RFC3339Nano)
	case kind == 2:
		at = commits[0].at
		to.Time = at.UTC().Format(time.RFC3339Nano)
	case kind == 3:
		at, to.LSN = commits[0].at, commits[0].lsn
	default:
		at, to.Transaction = commits[0].at, commits[0].xid
	}
	return to, at
}

// TestRandomMoments restores random targets of a database that several clients write to all the time, over a failover
// and a switchover, while the store of the log is slow, away, full, and loses what it said to have. What is there is
// exactly what the log has up to there. Nothing that clients were told by then is missing. The log lacks what a prune
// takes that keeps the restored backup alone.
func TestRandomMoments(t *testing.T) {
	t.Parallel()
	count := 4
	if torture() || *allFlag {
		count = 20
	}
	random := rand.New(rand.NewPCG(*seedFlag, 2))
	s := newSite(t, options{durability: protocol.Strict, members: 3, engine: archiving{}})
	s.wait("all to stream", func() bool { return s.primary() != nil && s.whole() })
	if _, err := s.awaitPrimary().ask("dbop", time.Minute, ledgerTables); err != nil {
		t.Fatal(err)
	}
	troubled := newTroubledStore(t)
	collector := s.collectorInto(t, archive.Open(troubled, signing(t)))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- collector.Run(ctx) }()
	l := ledger{all: map[string]entry{}, xids: map[string]string{}}
	writing, rest := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for client := range ledgerClients {
		writers.Go(func() { l.write(writing, s, client) })
	}
	writers.Go(func() { troubled.run(writing) })
	p := s.awaitPrimary()
	backups := []string{"primary", "replica"}
	facts := []contract.SnapshotFacts{s.facts(p, backups[0])}
	complete := []time.Time{time.Now()}
	time.Sleep(3 * time.Second)
	p.kill()
	s.wait("another primary", func() bool { n := s.primary(); return n != nil && n != p })
	p.start()
	s.wait("all to stream", func() bool { return s.primary() != nil && s.whole() })
	facts = append(facts, s.facts(s.other(s.awaitPrimary()), backups[1]))
	complete = append(complete, time.Now())
	time.Sleep(2 * time.Second)
	p = s.awaitPrimary()
	p.stop()
	s.wait("another primary", func() bool { n := s.primary(); return n != nil && n != p })
	time.Sleep(3 * time.Second)
	last := time.Now()
	time.Sleep(time.Second)
	rest()
	writers.Wait()
	p.start()
	l.end(t, s.awaitPrimary())
	end := time.Now()
	var windows [2]contract.LogWindow
	for i := range facts {
		s.wait("the log to be archived", func() bool {
			windows[i] = s.window(t, collector, facts[i])
			return windows[i].To.After(end)
		})
		if windows[i].Gap != "" {
			t.Errorf("%s is missing in the archive", windows[i].Gap)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	spool := s.spool(t, collector)
	ends := s.endings(t, spool)
	var needed [2]string
	for i, b := range facts {
		needed[i] = spool + "-" + backups[i]
		s.needed(t, collector, spool, needed[i], *b.LogStart)
	}
	for i := range count {
		to, at := randomTarget(random, ends, complete[0], last)
		b := 0
		if at.After(complete[1]) {
			b = random.IntN(2)
		}
		name := fmt.Sprintf("%d-%s", i, backups[b])
		t.Run(name, func(t *testing.T) {
			t.Logf("up to %+v, of %s", to, at.Format(time.StampMicro))
			want, err := expected(ends, to)
			if err != nil {
				t.Fatal(err)
			}
			to.Timeline = windows[b].Timeline
			to, err = engines.New().CheckTarget(windows[b], to)
			if err != nil {
				t.Fatal(err)
			}
			d := data{site: s, directory: filepath.Join(s.dir, name)}
			if err := d.forward(t, backups[b], needed[b], to); err != nil {
				t.Fatal(err)
			}
			l.check(t, d, want, to, at)
		})
	}
}

// needed copies the files of an archived log that a prune leaves where one backup is kept.
func (s *site) needed(t *testing.T, c *helper.Collector, spool, dir string, start contract.LogStart) {
	t.Helper()
	if err := os.CopyFS(dir, os.DirFS(spool)); err != nil {
		t.Fatal(err)
	}
	all, err := c.Log.Segments(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	spare := engines.New().SpareLog([]contract.LogStart{start}, bucket.LogFiles(all))
	for _, f := range spare {
		if err := os.Remove(filepath.Join(dir, f.Name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("a backup that starts at %s needs not %d of %d files", start.File, len(spare), len(all))
}
