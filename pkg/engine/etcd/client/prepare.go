package client

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/positions"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/versions"
)

var _ engine.Preparer = (*Session)(nil)

const (
	// defaultSnapshotCount is after how many log entries etcd 3.6 writes a
	// snapshot of its log (etcdserver.DefaultSnapshotCount).
	defaultSnapshotCount = 10_000
	snapshotCountOption  = "snapshot-count"
	// proposers fill the log together, so that entries share a disk flush.
	proposers = 128
	// appliedInterval is how often members are asked how far they have come.
	appliedInterval = 100 * time.Millisecond
	// commitWithin is after how long a change is in the data file for sure:
	// many times the 100 ms of --backend-batch-interval, which nobody sets to seconds.
	commitWithin = 2 * time.Second
)

// PrepareUpgrade implements engine.Preparer. Members of 3.5 announce
// themselves in the log in the format of the v2 store. A member replays its
// log from its last snapshot on, and one of 3.7 panics on such an entry; in a
// quiet cluster that came from 3.5 they are still there. So before the step
// to 3.7 the log is filled with entries that change nothing, until every
// member has written a snapshot.
//
// On the way down a member tells of lowered storage before either its log or
// its data file says so on disk: the snapshot of the log follows a moment later
// (server/etcdserver/server.go), and the data file is written in batches
// (server/storage/backend). Killed in between, it starts from what the older
// binary refuses.
func (s *Session) PrepareUpgrade(ctx context.Context, members []string, target string) error {
	to, err := versions.Parse(target)
	if err != nil {
		return fmt.Errorf("prepare the upgrade: %w", err)
	}
	// A member counts entries as applied a moment before it writes the snapshot
	// that they call for. One more entry, sent only now, is applied after it.
	rounds, settle := []int64{1}, time.Duration(0)
	switch view := s.Observe(ctx, members); {
	case anyRuns(view, func(l versions.Line) bool { return to.Line().Less(l) }):
		// On the way down the lowered cluster version calls for one by itself.
		settle = commitWithin
	case to.Line() == versions.V2FreeLine && anyRuns(view, func(l versions.Line) bool { return l.Less(to.Line()) }):
		count, err := s.snapshotCount()
		if err != nil {
			return fmt.Errorf("prepare the upgrade to %s: %w", target, err)
		}
		rounds = []int64{count + 1, 1}
	default:
		return nil
	}
	for _, entries := range rounds {
		end, err := s.fillLog(ctx, entries)
		if err == nil {
			err = s.awaitApplied(ctx, members, end)
		}
		if err != nil {
			return fmt.Errorf("prepare the upgrade to %s, make every member write a snapshot of its log: %w", target, err)
		}
	}
	return pause(ctx, settle)
}

// pause waits for what no member tells of.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// anyRuns reports whether a member runs such a series, or can't be asked.
func anyRuns(v engine.View, such func(versions.Line) bool) bool {
	for _, m := range v.Members {
		if has, err := versions.Parse(m.Version); err != nil || such(has.Line()) {
			return true
		}
	}
	return false
}

func (s *Session) snapshotCount() (int64, error) {
	value, ok := s.access.Cluster.Spec.Config[snapshotCountOption]
	if !ok {
		return defaultSnapshotCount, nil
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read option %s: %w", snapshotCountOption, err)
	}
	return n, nil
}

// fillLog appends at least n entries and returns the index that was reached.
// Listing the alarms is the request that goes through the log and changes nothing.
func (s *Session) fillLog(ctx context.Context, n int64) (uint64, error) {
	name, err := s.findLeader(ctx)
	if err != nil {
		return 0, err
	}
	var end uint64
	var failed error
	err = s.With(name, func(c *Connection) bool {
		if failed = propose(ctx, c, n); failed != nil {
			return true
		}
		status, err := askStatus(ctx, c)
		if err != nil {
			failed = err
			return false
		}
		end = status.RaftIndex
		return true
	})
	return end, errors.Join(err, fault(ctx, failed))
}

func propose(ctx context.Context, c *Connection, n int64) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var left atomic.Int64
	left.Store(n)
	var wg sync.WaitGroup
	for range proposers {
		wg.Go(func() {
			for left.Add(-1) >= 0 && ctx.Err() == nil {
				if _, err := c.Client.AlarmList(ctx); err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// awaitApplied waits until every member has applied the log up to an index.
func (s *Session) awaitApplied(ctx context.Context, members []string, index uint64) error {
	ticker := time.NewTicker(appliedInterval)
	defer ticker.Stop()
	for {
		behind := ""
		for _, m := range s.Observe(ctx, members).Members {
			if positions.Applied(m) < index {
				behind = m.Name
			}
		}
		if behind == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("member %s has not applied entry %d: %w", behind, index, ctx.Err())
		case <-ticker.C:
		}
	}
}
