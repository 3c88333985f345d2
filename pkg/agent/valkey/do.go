//go:build linux

package valkey

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/arrival"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/process"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/datadir"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/volume"
)

// Do performs a job. It returns soon after the context ended.
func (s *Server) Do(ctx context.Context, job protocol.Job, valid func() bool) error {
	switch job.Kind {
	case protocol.Initialise:
		return s.initialise(ctx, job)
	case protocol.Clone:
		return s.clone(ctx, job)
	case protocol.Discard:
		return s.discard()
	case protocol.Follow:
		return s.follow(ctx, job)
	case protocol.Cut:
		return s.cut(ctx, job)
	case protocol.Read:
		return s.read(ctx, job)
	case protocol.Promote:
		return s.promote(ctx, job, valid)
	case protocol.Load:
		return s.load(ctx, job.Set)
	case protocol.Reload:
		return s.reload(ctx, job.Settings)
	case protocol.Checkpoint:
		return nil // all data is in the append-only files already
	case protocol.Copy:
		return s.copySource(ctx, job)
	case protocol.Detach:
		return s.detach(ctx, valid)
	case protocol.Admit:
		return arrival.Wait(ctx, s.Port, s.sessions)
	case protocol.StopFast:
		return s.stopFast(ctx, true)
	case protocol.StopNow:
		return s.StopNow()
	}
	return fmt.Errorf("this driver does not know the job %q", job.Kind)
}

// StopNow kills every process of the server, and returns when none is left.
func (s *Server) StopNow() error {
	p := s.stop()
	s.upstream.Cut()
	p.Kill(s.Others)
	return nil
}

// until polls a condition while a run of the server goes on.
func (s *Server) until(ctx context.Context, p *process.Process, what string, holds func(answer) bool) error {
	return p.Until(ctx, what, func(ctx context.Context) (bool, error) {
		a, err := s.state(ctx)
		return err == nil && holds(a), err
	})
}

// settleTime bounds one attempt: the job is asked for again.
const settleTime = 30 * time.Second

// errUnknown is the end of data that a crash left. What it held was perhaps acknowledged, and nobody can count it.
var errUnknown = errors.New("the server of this replica ended without an order: how much its data holds is not " +
	"known, and it reports nothing until it has followed a primary")

// unknownPause is the time between two attempts to tell how much the data holds.
const unknownPause = time.Second

// cut writes the floor to disk, ends what the server streams from, and waits until it has read the rest. A primary is
// killed first, and so is a server that receives a copy aside. A server that does not run is started: what it can't
// load is not reported, so that it is not appointed.
func (s *Server) cut(ctx context.Context, job protocol.Job) error {
	if err := s.holdBack(ctx); err != nil {
		return err
	}
	s.setUnloaded(true)
	err := s.readEnd(ctx, job)
	if err == nil {
		s.setUnloaded(false)
	}
	return err
}

func (s *Server) setUnloaded(now bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unloaded = now
}

func (s *Server) readEnd(ctx context.Context, job protocol.Job) error {
	if err := s.raiseFloor(job.Generation); err != nil {
		return err
	}
	return s.read(ctx, job)
}

// read has the server serve what is on disk, without an upstream. Data whose end is not known is not loaded: it would
// be taken for known then.
func (s *Server) read(ctx context.Context, job protocol.Job) error {
	s.upstream.Cut()
	s.mu.Lock()
	s.settings.Durability = job.Settings.Durability
	stop := s.promoted > 0 || s.making
	s.mu.Unlock()
	if stop {
		if err := s.StopNow(); err != nil {
			return err
		}
	}
	ctx, end := context.WithTimeout(ctx, settleTime)
	defer end()
	if s.running() != nil {
		return s.settle(ctx)
	}
	if s.stopped().Unread {
		return wait(ctx, unknownPause, errUnknown)
	}
	if err := s.rest(ctx, job.Settings); err != nil {
		return wait(ctx, unknownPause, err)
	}
	return nil
}

// wait keeps a job that failed from being asked for all the time.
func wait(ctx context.Context, d time.Duration, failed error) error {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	return failed
}

// settle waits until the server has loaded its files and receives nothing.
func (s *Server) settle(ctx context.Context) error {
	p := s.running()
	if p == nil {
		return errors.New("read the end of the data: the server ended")
	}
	return s.until(ctx, p, "read the end of the data", func(a answer) bool {
		return !a.loading && !a.linked && !a.primary
	})
}

// rest runs the server on the copy in place, without an upstream. Where its data ends is written down before.
func (s *Server) rest(ctx context.Context, settings protocol.Settings) error {
	at := s.stopped()
	if at.Unfit != "" || at.Unread {
		return fmt.Errorf("start the server: its data is not fit, or where it ends is not known: %s", at.Unfit)
	}
	if err := s.setIdentity(func(id *datadir.Identity) {
		id.Estimated = id.Estimated || id.End == nil
		id.End = &at.Position
	}); err != nil {
		return err
	}
	s.mu.Lock()
	id := s.identity
	s.mu.Unlock()
	if err := s.start(ctx, s.data(), id, settings, fromLog); err != nil {
		return err
	}
	return s.settle(ctx)
}

// stopFast stops the server in order. Where its data ends is written to disk. A primary accepts no writes from the
// first moment, and waits until those who stream hold everything. A replica may save what it goes on from.
func (s *Server) stopFast(ctx context.Context, save bool) error {
	p := s.running()
	if p == nil {
		return nil
	}
	s.mu.Lock()
	making, promoted, still := s.making, s.promoted > 0, !s.streamed && s.promoted == 0
	following := s.following != nil
	s.mu.Unlock()
	if making {
		return s.StopNow() // the copy in place does not change
	}
	if !promoted || following {
		s.upstream.Cut()
	}
	end, err := s.drain(ctx, p, promoted)
	if err != nil {
		return err
	}
	if promoted {
		s.log.finish(ctx, end.Offset)
	}
	var saved *datadir.Saved
	if save && !promoted && !still {
		saved = s.save(ctx, p)
	}
	if _, err := s.ask(ctx, "SHUTDOWN", "NOSAVE", "NOW", "FORCE"); err != nil && isAnswered(err) {
		return fmt.Errorf("stop the server: %w", err)
	}
	if err := p.Wait(ctx); err != nil {
		return err
	}
	if still || !p.Cmd.ProcessState.Success() {
		return nil
	}
	return s.setIdentity(func(id *datadir.Identity) { id.End, id.Saved, id.Estimated = &end, saved, false })
}

// drainTime bounds the wait for those who stream: the next primary is asked for what it holds anyway.
const drainTime = 3 * time.Second

// drain ends all writes and returns where the data ends.
func (s *Server) drain(ctx context.Context, p *process.Process, promoted bool) (protocol.Position, error) {
	if !promoted {
		if err := s.settle(ctx); err != nil {
			return protocol.Position{}, err
		}
		return s.end(ctx)
	}
	s.mu.Lock()
	following := s.following != nil
	s.mu.Unlock()
	if following {
		if err := s.settle(ctx); err != nil {
			return protocol.Position{}, err
		}
	} else if _, err := s.ask(ctx, "CLIENT", "PAUSE", "3600000", "WRITE"); err != nil {
		return protocol.Position{}, fmt.Errorf("stop writes: %w", err)
	}
	end, err := s.end(ctx)
	if err != nil {
		return end, err
	}
	waiting, stop := context.WithTimeout(ctx, drainTime)
	defer stop()
	err = s.until(waiting, p, "hand the rest to the replicas", func(a answer) bool {
		return !slices.ContainsFunc(s.counting(a), func(r protocol.Streaming) bool {
			return r.Flushed < end.Offset && s.Told(r.Member).Offset < end.Offset
		})
	})
	if err != nil {
		s.Report(err.Error())
	}
	return end, ctx.Err()
}

// counting are the replicas whose acknowledgements count. They acknowledge once a second, and nothing asks them for
// more while writes are stopped: what their agents told is newer.
func (s *Server) counting(a answer) (of []protocol.Streaming) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range a.standbys {
		if s.all || s.copies[volume.CopyName(r.Standby)] {
			r.Flushed = uint64(max(0, int64(r.Flushed)+s.base)) //nolint:gosec // the log is far shorter
			of = append(of, r)
		}
	}
	return of
}

// end asks where the data ends.
func (s *Server) end(ctx context.Context) (protocol.Position, error) {
	a, err := s.state(ctx)
	if err != nil {
		return protocol.Position{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.learn(a)
	return s.position, nil
}
