//go:build linux

package valkey

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/appendonly"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/datadir"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/volume"
)

// initialise makes an empty database aside and renames it. It is the only time that a server starts without files.
func (s *Server) initialise(ctx context.Context, job protocol.Job) error {
	if exists(s.data()) {
		return fmt.Errorf("create a database: %s exists", s.data())
	}
	if job.Source != nil {
		return s.foundFrom(ctx, job)
	}
	made := datadir.Identity{System: volume.NewName(8), Volume: volume.NewName(4), End: &protocol.Position{Timeline: 1}}
	if err := s.startAside(ctx, made, job.Settings); err != nil {
		return err
	}
	p := s.running()
	if p == nil {
		return errors.New("create a database: the server ended")
	}
	if err := s.until(ctx, p, "create a database", func(a answer) bool {
		return !a.loading && exists(datadir.Manifest(s.aside()))
	}); err != nil {
		return err
	}
	if _, err := s.ask(ctx, "SHUTDOWN", "NOSAVE", "NOW", "FORCE"); err != nil && isAnswered(err) {
		return fmt.Errorf("create a database: %w", err)
	}
	select {
	case <-p.Done:
	case <-ctx.Done():
		return ctx.Err()
	}
	return s.adopt(made)
}

// startAside runs the server in an empty directory.
func (s *Server) startAside(ctx context.Context, id datadir.Identity, settings protocol.Settings) error {
	if err := os.RemoveAll(s.aside()); err != nil {
		return fmt.Errorf("remove what an interrupted attempt left: %w", err)
	}
	if err := os.MkdirAll(db(s.aside()), 0o700); err != nil {
		return fmt.Errorf("create a copy of the data: %w", err)
	}
	if err := s.start(ctx, s.aside(), id, settings, fromLog); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.making = s.proc != nil
	return nil
}

// adopt puts the copy that was made aside into place. A server may run in it.
func (s *Server) adopt(made datadir.Identity) error {
	if err := datadir.WriteIdentity(s.aside(), made); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.replaceCopy(); err != nil {
		return err
	}
	s.identity, s.unfit, s.making, s.unloaded = made, "", false, false
	s.streamed = s.proc != nil
	return nil
}

// clone copies the data of the primary.
func (s *Server) clone(ctx context.Context, job protocol.Job) error {
	if err := s.mayFollow(job.Generation); err != nil {
		return err
	}
	s.source.choose(protocol.Source{})
	s.upstream.Aim(job.Member, job.Generation)
	f, err := s.askFacts(ctx)
	if err == nil {
		err = s.older(f)
	}
	if err != nil {
		return fmt.Errorf("clone %s: %w", job.Member, err)
	}
	return s.receive(ctx, job, f)
}

// receive has the server receive all data of the primary in a directory aside. The copy in place stays as it is until
// the other one is whole and on disk, and takes its place while the server runs.
func (s *Server) receive(ctx context.Context, job protocol.Job, f facts) error {
	if err := s.stopFast(ctx, false); err != nil {
		return err
	}
	made := datadir.Identity{
		System: f.System, Volume: volume.NewName(4), CopiedIn: job.Generation, Lineage: f.Lineage, Boot: s.boot,
		Flushed: appendFsync(job.Settings) == "always", Source: f.Source,
	}
	held, at, err := s.fill(ctx, job, job.Member, made)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.base = f.Base
	s.mu.Unlock()
	held += f.Base
	appendonly.Note(&made, uint64(held), at) //nolint:gosec // the log is far shorter
	s.Report(fmt.Sprintf("a copy of the data of %s is whole, up to %d", job.Member, held))
	return s.adopt(made)
}

// fill has the server receive all data of a primary in a directory aside, and returns up to where, as the server
// counts, and where its files ended before that was asked for.
func (s *Server) fill(ctx context.Context, job protocol.Job, from protocol.MemberID, made datadir.Identity) (held int64,
	at appendonly.Ending, err error,
) {
	if err := s.startAside(ctx, made, job.Settings); err != nil {
		return 0, at, err
	}
	p := s.running()
	if p == nil {
		return 0, at, errors.New("receive a copy of the data: the server ended")
	}
	s.upstream.Aim(from, job.Generation)
	s.upstream.Link(volume.CopyName(protocol.Standby{Member: s.ID, Volume: made.Volume}))
	err = p.Until(ctx, "receive a copy of the data", func(ctx context.Context) (bool, error) {
		at = appendonly.End(s.aside())
		a, err := s.state(ctx)
		held = a.offset
		return err == nil && a.linked && a.whole && exists(datadir.Manifest(s.aside())), err
	})
	return held, at, err
}

func (s *Server) mayFollow(g protocol.Generation) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g < s.floor.Generation() {
		return fmt.Errorf("follow a primary of generation %d: this member reported for generation %d", g,
			s.floor.Generation())
	}
	return nil
}

// discard removes the copy of the data. A crash may bring it back: then it is unfit again.
func (s *Server) discard() error {
	if err := s.StopNow(); err != nil {
		return err
	}
	err := os.RemoveAll(s.old())
	if err == nil {
		err = os.Rename(s.data(), s.old())
	}
	if err != nil {
		return fmt.Errorf("remove the copy of the data: %w", err)
	}
	s.mu.Lock()
	s.identity, s.unfit, s.position = datadir.Identity{}, "", protocol.Position{}
	s.mu.Unlock()
	if err := os.RemoveAll(s.old()); err != nil {
		return fmt.Errorf("remove the copy of the data: %w", err)
	}
	return nil
}
