//go:build linux

package valkey

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/process"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/appendonly"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/datadir"
)

const (
	// saveTime bounds the file that a replica writes before it stops in order. What has more data than that is copied
	// again.
	saveTime = 10 * time.Second
	// saveReserve is what is left of the time of a stop for the rest of it.
	saveReserve = 2 * time.Second
	dumpFile    = "dump.rdb"
)

func dump(data string) string { return filepath.Join(db(data), dumpFile) }

// save has a replica that receives nothing write all its data to a file from which it can go on: the servers write
// their replication ID and offset to such a file alone, and not to the append-only files. Nothing depends on it:
// without one the data is copied again.
func (s *Server) save(ctx context.Context, p *process.Process) *datadir.Saved {
	if deadline, bounded := ctx.Deadline(); bounded {
		early, stop := context.WithDeadline(ctx, deadline.Add(-saveReserve))
		defer stop()
		ctx = early
	}
	ctx, stop := context.WithTimeout(ctx, saveTime)
	defer stop()
	var saved datadir.Saved
	// The server writes one file at a time.
	err := s.until(ctx, p, "write the append-only files again", func(a answer) bool { return a.whole && !a.saving })
	if err == nil {
		_, err = s.ask(ctx, "BGSAVE")
	}
	if err == nil {
		err = s.until(ctx, p, "write what this replica goes on from", func(a answer) bool {
			saved = datadir.Saved{ID: a.id, Offset: a.offset}
			return !a.saving
		})
	}
	if a, asked := s.state(ctx); err == nil && (asked != nil || !a.saved) {
		err = errors.Join(errors.New("the server could not write its data to a file"), asked)
	}
	if err != nil {
		s.Report("this replica is going to copy all data again: " + err.Error())
		return nil
	}
	return &saved
}

// resume starts the server from the file of an orderly stop, as if it had only lost its connection, and has it write
// its append-only files again. A crash meanwhile leaves the old ones, which hold the same.
func (s *Server) resume(ctx context.Context, settings protocol.Settings) error {
	s.mu.Lock()
	id := s.identity
	s.mu.Unlock()
	if id.Saved == nil || id.End == nil {
		return errors.New("no file of an orderly stop is there")
	}
	if err := s.start(ctx, s.data(), id, settings, fromDump); err != nil {
		return err
	}
	p := s.running()
	if p == nil {
		return errors.New("start the server from the file of its last stop: it ended")
	}
	same := false
	err := s.until(ctx, p, "load the file of the last stop", func(a answer) bool {
		same = !a.primary && a.id == id.Saved.ID && a.offset == id.Saved.Offset
		return !a.loading
	})
	if err == nil && !same {
		err = errors.New("start the server from the file of its last stop: the file is another one")
	}
	if err == nil {
		_, err = s.ask(ctx, "CONFIG", "SET", "appendonly", "yes")
	}
	if err == nil {
		err = s.until(ctx, p, "write the append-only files again", func(a answer) bool { return a.whole })
	}
	if err != nil {
		return errors.Join(err, s.StopNow())
	}
	base := int64(id.End.Offset) - id.Saved.Offset //nolint:gosec // the log is far shorter
	if err := s.setIdentity(func(to *datadir.Identity) {
		appendonly.Note(to, id.End.Offset, appendonly.End(s.data()))
		to.End, to.Saved, to.Primary = nil, nil, false
		to.Estimated = false
		to.Boot, to.Flushed = s.boot, appendFsync(settings) == "always"
	}); err != nil {
		return errors.Join(err, s.StopNow())
	}
	s.mu.Lock()
	s.base, s.streamed = base, true
	s.mu.Unlock()
	if err := os.Remove(dump(s.data())); err != nil {
		return fmt.Errorf("remove the file of the last stop: %w", err)
	}
	return nil
}
