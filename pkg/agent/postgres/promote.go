//go:build linux

package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/disk"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/datadir"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/floors"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/volume"
)

var errLeaseOver = errors.New("the lease is over")

// promote loads the set and makes the server a primary on the timeline of the job.
func (s *Server) promote(ctx context.Context, job protocol.Job, valid func() bool) error {
	s.upstream.Cut()
	s.setBarred(job.Source != nil)
	if job.Source != nil {
		if err := s.bar(ctx); err != nil {
			return err
		}
	}
	if _, _, err := s.replay(ctx, job.Settings); err != nil {
		return err
	}
	if err := s.meetLog(ctx, job.Settings); err != nil {
		return err
	}
	if err := s.load(ctx, job.Set); err != nil {
		return err
	}
	if err := s.reserve(job.Timeline); err != nil {
		return err
	}
	if err := s.setIdentity(func(id *datadir.Identity) { id.Promoting = job.Timeline }); err != nil {
		return err
	}
	if !valid() || ctx.Err() != nil {
		return errLeaseOver
	}
	p := s.running()
	if p == nil {
		return errors.New("promote the server: it ended")
	}
	s.mu.Lock()
	s.promoted, s.flushed = job.Generation, s.Now()
	s.lowering = len(s.launched.Above(floors.Asked(s.settings.Values))) > 0
	s.mu.Unlock()
	defer s.lowered()
	if _, err := s.observer.Ask(ctx, "SELECT pg_promote(false)"); err != nil {
		return fmt.Errorf("promote the server: %w", err)
	}
	if err := s.until(ctx, p, "promote the server", func(a answer) bool { return !a.recovering }); err != nil {
		return err
	}
	raw, err := os.ReadFile(filepath.Join(s.pgdata(), "pg_wal", datadir.HistoryName(job.Timeline)))
	if err != nil {
		return errors.Join(fmt.Errorf("promote the server to timeline %d: it took another one: %w", job.Timeline, err),
			s.StopNow())
	}
	past, err := datadir.ParseHistory(job.Timeline, string(raw))
	if err != nil {
		return errors.Join(err, s.StopNow())
	}
	if err := s.setIdentity(func(id *datadir.Identity) { id.Lineage, id.Promoting = past, 0 }); err != nil {
		return err
	}
	if err := s.lower(ctx, job, valid); err != nil {
		return err
	}
	if err := s.mark(ctx, s.observer.Ask); err != nil {
		return err
	}
	if err := s.meetSource(ctx, job.Source); err != nil {
		return err
	}
	s.mu.Lock()
	s.ready, s.lowering, p = true, false, s.proc
	s.mu.Unlock()
	go s.probe(p) //nolint:gosec // it lives as long as the server, not as the job
	return nil
}

// reserve has the server take a timeline: the one after the last that it knows of. Timelines in between were given to
// members that never were on them.
func (s *Server) reserve(timeline uint64) error {
	wal := filepath.Join(s.pgdata(), "pg_wal")
	s.mu.Lock()
	last := s.identity.Lineage.Timeline
	s.mu.Unlock()
	for t := last + 1; t < timeline; t++ {
		path := filepath.Join(wal, datadir.HistoryName(t))
		if _, err := os.Stat(path); err == nil {
			continue
		}
		if err := disk.ReplaceBytes(path, []byte(datadir.Filler)); err != nil {
			return err
		}
	}
	return nil
}

// removeFillers takes away what reserve wrote for a promotion that did not come: a server that starts would take it for
// the newest timeline.
func (s *Server) removeFillers() error {
	s.mu.Lock()
	last := s.identity.Lineage.Timeline
	s.mu.Unlock()
	found, err := filepath.Glob(filepath.Join(s.pgdata(), "pg_wal", "*.history"))
	if err != nil {
		return err
	}
	for _, path := range found {
		if filepath.Base(path) <= datadir.HistoryName(last) {
			continue
		}
		raw, err := os.ReadFile(path) //nolint:gosec // the path is ours
		if err == nil && strings.HasPrefix(string(raw), datadir.Filler) {
			err = os.Remove(path)
		}
		if err != nil {
			return fmt.Errorf("take away a timeline that is not used: %w", err)
		}
	}
	return nil
}

// load has the server wait for the standbys of a set. Streams of others end: what their last words acknowledge would
// not count.
func (s *Server) load(ctx context.Context, set protocol.SyncSet) error {
	names := setNames(set)
	s.mu.Lock()
	// Nobody writes before a promotion, and all wait for it. The settings stay the same: that a session sees the names
	// shows that the files were read.
	brief := s.promoted == 0
	s.names, s.set, s.setAt = names, 0, math.MaxUint64
	settings := s.settings
	s.mu.Unlock()
	var err error
	if brief {
		err = s.rename(ctx, settings)
	} else {
		err = s.reload(ctx, settings)
	}
	if err != nil {
		return err
	}
	s.Downstream.Drop(func(copied string) bool {
		return set.Need == 0 || strings.Contains(names, local.Identifier(copied))
	})
	if s.isPromoted() {
		if err := s.mark(ctx, s.Once); err != nil {
			return err
		}
		// A write that waits goes on with the next word of a standby of the new set, and while all writes wait there would
		// be none: each tells what it flushed once it gets more (ProcessStandbyReplyMessage in PostgreSQL's walsender.c).
		s.hurry()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set = set.Version
	return nil
}

// mark notes where the log ends after the set was loaded: who holds that holds all that was acknowledged before.
func (s *Server) mark(ctx context.Context, ask func(context.Context, string) (local.Rows, error)) error {
	got, err := ask(ctx, "SELECT pg_current_wal_insert_lsn()")
	if err != nil {
		return err
	}
	at, err := datadir.ParseLSN(got[0][0][0])
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setAt = at
	return nil
}

// setNames is the text of a set. A set that nobody can satisfy has a name that nobody bears: an empty text would ask
// for nothing.
func setNames(set protocol.SyncSet) string {
	if set.Need == 0 {
		return ""
	}
	names := make([]string, 0, len(set.Standbys))
	for _, standby := range set.Standbys {
		names = append(names, local.Identifier(volume.CopyName(standby)))
	}
	if len(names) == 0 {
		names = append(names, `"nobody"`)
	}
	return fmt.Sprintf("ANY %d (%s)", set.Need, strings.Join(names, ", "))
}

// reloadTime bounds a reload.
const reloadTime = 5 * time.Second

// reload writes the files, and waits until the server has read them. What somebody wrote over them with ALTER SYSTEM is
// taken back.
func (s *Server) reload(ctx context.Context, settings protocol.Settings) error {
	ctx, stop := context.WithTimeout(ctx, reloadTime)
	defer stop()
	s.mu.Lock()
	replaced := s.settings.Version != settings.Version
	s.mu.Unlock()
	if replaced {
		s.setReloading(true)
		defer s.setReloading(false)
	}
	p := s.running()
	if p == nil {
		return errors.New("reload the settings: the server does not run")
	}
	before, err := s.loaded(ctx)
	if err != nil {
		return fmt.Errorf("reload the settings: %w", err)
	}
	if err := s.rename(ctx, settings); err != nil {
		return err
	}
	return s.learnPending(ctx, p, before)
}

// rename writes the files, and waits until a session sees the synchronous names.
func (s *Server) rename(ctx context.Context, settings protocol.Settings) error {
	ctx, stop := context.WithTimeout(ctx, reloadTime)
	defer stop()
	values, err := s.values(settings)
	if err != nil {
		return err
	}
	if err := s.writeFiles(settings, values); err != nil {
		return err
	}
	p := s.running()
	if p == nil {
		return errors.New("reload the settings: the server does not run")
	}
	if err := p.Cmd.Process.Signal(syscall.SIGHUP); err != nil {
		return fmt.Errorf("reload the settings: %w", err)
	}
	s.mu.Lock()
	names := s.names
	s.mu.Unlock()
	return s.until(ctx, p, "reload the settings", func(a answer) bool { return a.synchronous == names })
}
