//go:build linux

package valkey

import (
	"context"
	"fmt"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/datadir"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/logfile"
)

// take adds a piece of the stream to the files.
func (r *recorder) take(p []byte, lineage datadir.Lineage) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(p) > 0 {
		of, end := lineage.After(r.at)
		if of.ID == "" {
			return errNotNow
		}
		place := uint64(int64(r.at) - of.Base) //nolint:gosec // the log is far shorter
		if history := logfile.History(of.ID); history != r.history {
			if err := r.complete(); err != nil {
				return err
			}
			if !r.scan.Between() {
				return r.lose(fmt.Errorf("a timeline begins within a command, at %d", r.at))
			}
			r.history, r.started = history, true
		}
		if r.started && !r.buffer.Writing() {
			if err := r.buffer.Begin(r.history, place); err != nil {
				return r.lose(err)
			}
		}
		part := p[:min(uint64(len(p)), end-r.at)]
		if r.started {
			part = part[:min(len(part), r.buffer.Room())]
		}
		n, err := r.pass(part)
		r.at += uint64(n) //nolint:gosec // it is positive
		if err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// pass adds a piece up to the end of a command, of one history and one file.
func (r *recorder) pass(p []byte) (int, error) {
	n, whole, err := r.scan.Next(p)
	if err != nil {
		return n, r.lose(err)
	}
	if r.started {
		if _, err := r.buffer.Write(p[:n]); err != nil {
			return n, r.lose(err)
		}
	}
	cut := r.started && r.buffer.Room() == 0
	if whole {
		if m, ok := r.scan.Mark(); ok {
			r.buffer.Mark(m.Time)
			cut = cut || m.Cut
		}
	}
	if cut {
		err = r.complete()
		r.started = true
	}
	return n, err
}

// complete completes the file that was started.
func (r *recorder) complete() error {
	if err := r.buffer.Complete(); err != nil {
		return r.lose(err)
	}
	return nil
}

// lose gives up the file that was started. What was written down last counts, and the stream is read again from the
// beginning of the timeline, or from the next cut on.
func (r *recorder) lose(err error) error {
	r.buffer.Discard()
	r.run = nil
	return fmt.Errorf("write the log: %w", err)
}

// finishTime bounds the wait for the end of the stream when the server stops.
const finishTime = 2 * time.Second

// finish completes the files of a primary that takes no writes any more, where its data ends.
func (r *recorder) finish(ctx context.Context, end uint64) {
	if _, on := r.situation(); !on {
		return
	}
	ctx, stop := context.WithTimeout(ctx, finishTime)
	defer stop()
	for ctx.Err() == nil {
		r.mu.Lock()
		done := r.at >= end
		if done {
			if err := r.complete(); err != nil {
				r.server.Report(err.Error())
			}
		}
		r.mu.Unlock()
		if done {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Millisecond):
		}
	}
	r.server.Report("the end of the log was not read before the server stopped")
}
