//go:build linux

package valkey

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/process"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/resp"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/appendonly"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/datadir"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/volume"
)

var errLeaseOver = errors.New("the lease is over")

// promote loads the set and makes the server a primary on the timeline of the job.
func (s *Server) promote(ctx context.Context, job protocol.Job, valid func() bool) error {
	s.upstream.Cut()
	if s.running() == nil {
		if err := s.rest(ctx, job.Settings); err != nil {
			return err
		}
	}
	if err := s.settle(ctx); err != nil {
		return err
	}
	if err := s.load(ctx, job.Set); err != nil {
		return err
	}
	begin, err := s.end(ctx)
	if err != nil {
		return err
	}
	if err := s.setIdentity(func(id *datadir.Identity) {
		id.Lineage, id.End, id.Saved, id.Primary = id.Lineage.Next(job.Timeline, begin.Offset), nil, nil, true
		id.Lineage[len(id.Lineage)-1].Unsure, id.Estimated = id.Estimated, false
		appendonly.Note(id, begin.Offset, appendonly.End(s.data()))
		id.Boot, id.Flushed = s.boot, appendFsync(job.Settings) == "always"
	}); err != nil {
		return err
	}
	_ = os.Remove(dump(s.data())) // nobody goes on from it any more
	if !valid() || ctx.Err() != nil {
		return errLeaseOver
	}
	p := s.running()
	if p == nil {
		return errors.New("promote the server: it ended")
	}
	s.mu.Lock()
	s.promoted, s.flushed = job.Generation, s.Now()
	s.mu.Unlock()
	if job.Source != nil {
		return s.attach(ctx, *job.Source, job.Generation)
	}
	s.source.choose(protocol.Source{})
	id, err := s.takeWrites(ctx, p, valid)
	if err != nil {
		return err
	}
	s.Report(fmt.Sprintf("promoted: timeline %d begins at %d with the replication ID %s", job.Timeline, begin.Offset, id))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready = true
	s.log.begin()
	return nil
}

// takeWrites makes a server that receives nothing take writes, and returns its replication ID.
func (s *Server) takeWrites(ctx context.Context, p *process.Process, valid func() bool) (string, error) {
	// No write gets in before the server counts them.
	for _, command := range [][]string{{"CLIENT", "PAUSE", "60000", "WRITE"}, {"REPLICAOF", "NO", "ONE"}} {
		if _, err := s.ask(ctx, command...); err != nil {
			return "", fmt.Errorf("promote the server: %w", err)
		}
	}
	if err := s.until(ctx, p, "promote the server", func(a answer) bool { return a.primary }); err != nil {
		return "", err
	}
	id, err := s.countOffset(ctx, p)
	if err != nil {
		return "", err
	}
	if err := s.setIdentity(func(of *datadir.Identity) {
		of.Lineage = slices.Clone(of.Lineage)
		last := &of.Lineage[len(of.Lineage)-1]
		last.ID, last.Base = id, s.base
	}); err != nil {
		return "", err
	}
	if err := s.mark(ctx); err != nil {
		return "", err
	}
	// Clients of users that were made a moment ago come at once.
	if err := s.takeUsers(ctx); err != nil {
		s.Report("the users stay as they are: " + err.Error())
	}
	if !valid() {
		return "", errLeaseOver
	}
	if _, err := s.ask(ctx, "CLIENT", "UNPAUSE"); err != nil {
		return "", fmt.Errorf("promote the server: %w", err)
	}
	return id, nil
}

// countOffset has the server count what it writes, and returns its replication ID. A server that has had no replica
// since its start does not count: so one asks for its data, and leaves before it gets any.
func (s *Server) countOffset(ctx context.Context, p *process.Process) (id string, err error) {
	counts := func(a answer) bool {
		id = a.id
		return a.counting
	}
	a, err := s.state(ctx)
	if err != nil || counts(a) {
		return id, err
	}
	const delay = "repl-diskless-sync-delay"
	if _, err := s.ask(ctx, "CONFIG", "SET", delay, "60"); err != nil {
		return "", fmt.Errorf("set %s: %w", delay, err)
	}
	c, err := s.enter(ctx)
	if err != nil {
		return "", err
	}
	defer c.Close() //nolint:errcheck // it is of no use any more
	if _, err := c.Do(ctx, "REPLCONF", "capa", "eof", "capa", "psync2"); err != nil {
		return "", fmt.Errorf("have the server count what it writes: %w", err)
	}
	if _, err := c.Write(resp.Encode([]string{"PSYNC", "?", "-1"})); err != nil {
		return "", fmt.Errorf("have the server count what it writes: %w", err)
	}
	if err := s.until(ctx, p, "have the server count what it writes", counts); err != nil {
		return "", err
	}
	_ = c.Close() // before the server begins
	_, err = s.ask(ctx, "CONFIG", "SET", delay, "0")
	return id, err
}

// load has the acknowledgements of the standbys of a set count, and only theirs. While fewer of them are there than
// must acknowledge, the server refuses writes.
func (s *Server) load(ctx context.Context, set protocol.SyncSet) error {
	copies := map[string]bool{}
	for _, standby := range set.Standbys {
		copies[volume.CopyName(standby)] = true
	}
	s.mu.Lock()
	s.set, s.setAt, s.copies, s.all, s.need = 0, math.MaxUint64, copies, set.Need == 0, set.Need
	promoted := s.promoted > 0
	s.mu.Unlock()
	if err := s.setLeast(ctx); err != nil {
		return fmt.Errorf("load who acknowledges writes: %w", err)
	}
	if promoted {
		if err := s.mark(ctx); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set = set.Version
	return nil
}

// mark notes where the data ends after the set was loaded: who holds that holds all that was acknowledged before.
func (s *Server) mark(ctx context.Context) error {
	end, err := s.end(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setAt = end.Offset
	return nil
}

// reload has the server take settings as far as it can without a restart.
func (s *Server) reload(ctx context.Context, settings protocol.Settings) error {
	all := append(s.peopleSettings(settings), setting{appendFsyncSetting, appendFsync(settings)})
	var pending []string
	for _, v := range all {
		_, err := s.ask(ctx, "CONFIG", "SET", v.name, v.value)
		if err != nil && !isAnswered(err) {
			return fmt.Errorf("set %s: %w", v.name, err)
		}
		if err != nil {
			pending = append(pending, v.name)
			s.Report(fmt.Sprintf("the setting %s waits for a restart of the server, or is not valid: %s", v.name, err))
		}
	}
	s.mu.Lock()
	s.settings, s.pending = settings, pending
	s.log.ask()
	there := s.identity.Volume != "" && !s.making
	s.mu.Unlock()
	if !there {
		return nil
	}
	return s.setIdentity(func(id *datadir.Identity) { id.Flushed = appendFsync(settings) == "always" })
}
