//go:build linux

package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/movein"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

var (
	_ api.Mover    = (*Server)(nil)
	_ api.Returner = (*Server)(nil)
)

// follower is this server as one that may follow another.
func (s *Server) follower() movein.Server {
	return movein.Server{Server: s.Server, Directory: s.Directory, Secret: s.SourceSecret,
		Authority: s.Authority, Door: s.door, Report: s.Report}
}

// meetSource has a server that was just promoted follow the source of the cluster. Where there is none any more, what a
// primary before it left of that is removed.
func (s *Server) meetSource(ctx context.Context, of *protocol.Source) error {
	follower := s.follower()
	if of == nil {
		return follower.Clean(ctx, s.observer.Ask)
	}
	s.door.Shut()
	s.mu.Lock()
	volume := s.identity.Volume
	s.mu.Unlock()
	if err := follower.MeetMark(ctx, volume); err != nil {
		return fmt.Errorf("follow %s: %w", of.Address, err)
	}
	return s.attach(ctx, *of)
}

// attach begins to follow a source, as long as this run of the server goes on.
func (s *Server) attach(ctx context.Context, of protocol.Source) error {
	p := s.running()
	m, err := s.follower().New(ctx, of)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc != p || p == nil {
		return fmt.Errorf("follow %s: the server ended", of.Address)
	}
	s.moving = m
	m.Start(context.WithoutCancel(ctx), s.identity.Volume)
	return nil
}

// leave ends that a source is followed, as the server ended. It is called under the lock.
func (s *Server) leave() {
	if s.moving != nil {
		s.moving.End()
		s.moving = nil
	}
}

func (s *Server) movesIn() *movein.Move {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.moving
}

// detach ends that the primary follows the source, and lets clients in.
func (s *Server) detach(ctx context.Context, settings protocol.Settings, valid func() bool) error {
	m := s.movesIn()
	if m == nil {
		return errors.New("end following the source: it is not followed")
	}
	if err := m.Leave(ctx); err != nil {
		return err
	}
	if !valid() {
		return errLeaseOver
	}
	s.setBarred(false)
	if err := s.reload(ctx, settings); err != nil {
		return err
	}
	s.mu.Lock()
	s.moving = nil
	s.mu.Unlock()
	s.Report("the server lets clients in, and follows no source any more")
	go m.Tidy() // it bounds its time itself, and the job is over
	return nil
}

// Source implements api.Mover.
func (s *Server) Source(context.Context) *api.Source {
	m := s.movesIn()
	if m == nil {
		return nil
	}
	out := m.Told()
	return &out
}

// Halt implements api.Mover.
func (s *Server) Halt(ctx context.Context, how api.Cutover, leads func() bool) (api.Halted, error) {
	m := s.movesIn()
	if m == nil {
		return api.Halted{}, api.Refused{Why: "the server of this member follows no source"}
	}
	return m.Halt(ctx, how, leads)
}

// Unhalt implements api.Mover.
func (s *Server) Unhalt(ctx context.Context) error {
	m := s.movesIn()
	if m == nil {
		return errors.New("the source stays closed: this server does not follow it any more")
	}
	return m.Unhalt(ctx)
}

// CanFollow implements api.Returner.
func (s *Server) CanFollow(ctx context.Context, from protocol.Source) error {
	return s.follower().CanFollow(ctx, from)
}

// EndBack implements api.Returner.
func (s *Server) EndBack(ctx context.Context) error { return s.follower().EndBack(ctx) }
