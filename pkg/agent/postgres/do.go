//go:build linux

package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/arrival"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/datadir"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/process"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// Do performs a job. It returns soon after the context ended.
func (s *Server) Do(ctx context.Context, job protocol.Job, valid func() bool) error {
	switch job.Kind {
	case protocol.Initialise:
		return s.initialise(ctx, job.Settings.Values)
	case protocol.Clone:
		return s.clone(ctx, job)
	case protocol.Discard:
		return s.discard()
	case protocol.Follow:
		return s.follow(ctx, job)
	case protocol.Cut:
		return s.cut(ctx, job)
	case protocol.Read:
		return s.settle(ctx, job.Settings)
	case protocol.Promote:
		return s.promote(ctx, job, valid)
	case protocol.Load:
		return s.load(ctx, job.Set)
	case protocol.Reload:
		return s.reload(ctx, job.Settings)
	case protocol.Checkpoint:
		_, err := s.Once(ctx, "CHECKPOINT")
		return err
	case protocol.Detach:
		return s.detach(ctx, job.Settings, valid)
	case protocol.Admit:
		return arrival.Wait(ctx, s.Port, s.sessions)
	case protocol.StopFast:
		return s.stopFast(ctx)
	case protocol.StopNow:
		return s.StopNow()
	}
	return fmt.Errorf("this driver does not know the job %q", job.Kind)
}

// StopNow kills every process of the server, and returns when none is left.
func (s *Server) StopNow() error {
	p := s.running()
	s.upstream.Cut()
	p.Kill(s.Others)
	return nil
}

// stopFast ends all sessions, hands the rest of the log to the standbys that stream, and stops. It returns when no
// process is left, or the context ended.
func (s *Server) stopFast(ctx context.Context) error {
	p := s.running()
	if p == nil {
		return nil
	}
	if err := s.files.StopArchiver(); err != nil {
		return err
	}
	s.mu.Lock()
	s.asked = p
	s.mu.Unlock()
	if err := p.Cmd.Process.Signal(syscall.SIGINT); err != nil {
		return fmt.Errorf("stop the server: %w", err)
	}
	return p.Wait(ctx)
}

// until polls a condition while a run of the server goes on.
func (s *Server) until(ctx context.Context, p *process.Process, what string, holds func(answer) bool) error {
	return p.Until(ctx, what, func(ctx context.Context) (bool, error) {
		a, err := s.state(ctx)
		return err == nil && holds(a), err
	})
}

// cut writes the floor to disk, ends what the server streams from, and has the end of its log read. A primary is killed
// first. A directory that was stopped in order needs no server for that.
func (s *Server) cut(ctx context.Context, job protocol.Job) error {
	if err := s.raiseFloor(job.Generation); err != nil {
		return err
	}
	s.upstream.Cut()
	if s.isPromoted() {
		if err := s.StopNow(); err != nil {
			return err
		}
	}
	if s.running() == nil && !s.stopped().Unread {
		return nil
	}
	return s.settle(ctx, job.Settings)
}

func (s *Server) isPromoted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.promoted > 0
}

// settleTime bounds one attempt: the job is asked for again.
const settleTime = 30 * time.Second

// settle runs the server without an upstream until nothing is received any more, and all that was on disk at its start
// is read.
func (s *Server) settle(ctx context.Context, settings protocol.Settings) error {
	if s.running() == nil && s.isRewinding() {
		return errors.New("read the end of the log: " + halfRewound)
	}
	ctx, stop := context.WithTimeout(ctx, settleTime)
	defer stop()
	paused, err := s.readEnd(ctx, settings)
	if err == nil && paused {
		// A start brings what the log asks for, as the control file has it by now.
		if err = s.StopNow(); err == nil {
			paused, err = s.readEnd(ctx, settings)
		}
	}
	if err == nil && paused {
		err = errors.New("read the end of the log: the server does not apply it, again after a start")
	}
	return err
}

// readEnd runs the server until it has read what is on disk, or applies nothing. Readers that keep it from that are
// ended.
func (s *Server) readEnd(ctx context.Context, settings protocol.Settings) (paused bool, err error) {
	if err := s.start(ctx, settings); err != nil {
		return false, err
	}
	p := s.running()
	if p == nil {
		return false, errors.New("read the end of the log: the server ended")
	}
	ctx, stop := context.WithCancel(ctx)
	var readers sync.WaitGroup
	readers.Go(func() { s.endReaders(ctx) })
	defer readers.Wait()
	defer stop()
	err = s.until(ctx, p, "read the end of the log", func(a answer) bool {
		paused = a.recovering && a.paused
		return paused || a.recovering && !a.receiving && s.upstream.Waiting()
	})
	return paused, err
}

// replay waits, without an upstream, until the server has applied all that it received. It returns where its log ends:
// with a whole record.
func (s *Server) replay(ctx context.Context, settings protocol.Settings) (end, received datadir.LSN, err error) {
	if err := s.settle(ctx, settings); err != nil {
		return 0, 0, err
	}
	a, err := s.state(ctx) // it applies nothing more
	return a.end, a.received, err
}
