//go:build linux

package valkey

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/stream"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/appendonly"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/datadir"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/volume"
)

// refusedPause keeps a source that can't be followed from being asked all the time.
const refusedPause = 2 * time.Second

// inspect checks the source, and waits before it returns an error.
func (s *Server) inspect(ctx context.Context, of protocol.Source) error {
	s.source.choose(of)
	err := s.source.check(ctx, s.product, s.free())
	s.source.say(err)
	if err == nil {
		return nil
	}
	select {
	case <-ctx.Done():
	case <-time.After(refusedPause):
	}
	return err
}

// foundFrom makes the database of the data of its source. The server goes on running: it knows where the stream of the
// source goes on only as long as it does.
func (s *Server) foundFrom(ctx context.Context, job protocol.Job) error {
	if err := s.inspect(ctx, *job.Source); err != nil {
		return fmt.Errorf("create a database: %w", err)
	}
	made := datadir.Identity{System: volume.NewName(8), Volume: volume.NewName(4), Source: true, Boot: s.boot,
		Flushed: appendFsync(job.Settings) == "always"}
	if err := s.StopNow(); err != nil { // an attempt before this one
		return err
	}
	held, at, err := s.fill(ctx, job, stream.Source, made)
	if err != nil {
		return err
	}
	s.upstream.Cut() // until it is promoted
	s.mu.Lock()
	s.base = 0
	s.mu.Unlock()
	appendonly.Note(&made, uint64(held), at) //nolint:gosec // the log is far shorter
	s.Report(fmt.Sprintf("a copy of the data of %s is whole, up to %d", job.Source.Address, held))
	return s.adopt(made)
}

// copySource receives all data of the source again, because the source no longer has what comes next. What the members
// hold until then is another history: positions of the new one are out of reach for it.
func (s *Server) copySource(ctx context.Context, job protocol.Job) error {
	if job.Source == nil {
		return errors.New("copy the data of the source: there is none")
	}
	if err := s.inspect(ctx, *job.Source); err != nil {
		return fmt.Errorf("copy the data of the source: %w", err)
	}
	s.Report(fmt.Sprintf("%s does not go on from where this copy is: all of its data is copied", job.Source.Address))
	if err := s.stopFast(ctx, false); err != nil {
		return err
	}
	before := s.stopped().Position
	s.mu.Lock()
	made := s.identity
	s.mu.Unlock()
	made.End, made.Saved, made.Source, made.Primary = nil, nil, true, true
	made.Boot, made.Flushed = s.boot, appendFsync(job.Settings) == "always"
	held, at, err := s.fill(ctx, job, stream.Source, made)
	if err != nil {
		return err
	}
	base := max(0, int64(before.Offset+job.Settings.MaxLag+1)-held) //nolint:gosec // the log is far shorter
	appendonly.Note(&made, uint64(held+base), at)                   //nolint:gosec // neither is negative
	s.mu.Lock()
	s.base = base
	s.mu.Unlock()
	if err := s.adopt(made); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return errors.New("copy the data of the source: the server ended")
	}
	s.promoted, s.flushed, s.following, s.ready = job.Generation, s.Now(), job.Source, true
	s.Report(fmt.Sprintf("a copy of the data of %s is whole, up to %d", job.Source.Address, made.Seen))
	return nil
}

// attach has the server of the primary follow the source.
func (s *Server) attach(ctx context.Context, to protocol.Source, g protocol.Generation) error {
	s.source.choose(to)
	if g > 1 {
		s.source.left()
	}
	if err := s.setIdentity(func(id *datadir.Identity) { id.Source = true }); err != nil {
		return err
	}
	s.mu.Lock()
	name := volume.CopyName(protocol.Standby{Member: s.ID, Volume: s.identity.Volume})
	s.following, s.refused = &to, false
	s.mu.Unlock()
	if err := s.expectSilence(ctx, true); err != nil {
		return err
	}
	s.upstream.Aim(stream.Source, g)
	s.upstream.Link(name)
	if err := s.reconnect(ctx); err != nil {
		return err
	}
	s.Report("the server follows " + to.Address)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready = true
	return nil
}

// detach ends that the server of the primary follows the source, and has it take writes.
func (s *Server) detach(ctx context.Context, valid func() bool) error {
	p := s.running()
	if p == nil {
		return errors.New("end following the source: the server ended")
	}
	s.upstream.Cut()
	if err := s.until(ctx, p, "end the stream of the source", func(a answer) bool {
		return !a.linked && !a.loading
	}); err != nil {
		return err
	}
	if !valid() {
		return errLeaseOver
	}
	id, err := s.takeWrites(ctx, p, valid)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.following = nil
	s.mu.Unlock()
	s.source.choose(protocol.Source{})
	s.Report("the server takes writes, and follows no source any more: its replication ID is " + id)
	if err := s.restoreUsers(ctx); err != nil {
		s.Report("write the users to the data: " + err.Error()) // it is tried again
	}
	return nil
}
