//go:build linux

package postgres

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/disk"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/datadir"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/logfiles"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/volume"
)

// initialise makes an empty database aside and renames it. Its text is ordered the same on every machine.
func (s *Server) initialise(ctx context.Context, settings map[string]string) error {
	if len(settings) > 0 { // with which it is about to start
		if err := s.CheckValues(ctx, settings); err != nil {
			return err
		}
	}
	pgdata := filepath.Join(s.aside(), "pgdata")
	args := []string{"--pgdata", pgdata, "--username", local.User, "--data-checksums",
		"--encoding", "UTF8", "--auth", "scram-sha-256", "--auth-local", "trust", "--locale", "C.UTF-8"}
	switch {
	case s.Major >= 17:
		args = append(args, "--locale-provider", "builtin", "--builtin-locale", "C.UTF-8")
	case s.Major >= 15:
		args = append(args, "--locale-provider", "icu", "--icu-locale", "und")
	}
	return s.create(ctx, 0, func() (datadir.Lineage, error) {
		return datadir.Lineage{Timeline: 1}, s.Run(ctx, "initdb", args...)
	})
}

// clone copies the data of the primary.
func (s *Server) clone(ctx context.Context, job protocol.Job) error {
	if err := s.mayFollow(job.Generation); err != nil {
		return err
	}
	s.upstream.Aim(job.Member, job.Generation)
	err := s.create(ctx, job.Generation, func() (datadir.Lineage, error) {
		past, _, err := s.ancestry(ctx)
		if err != nil {
			return datadir.Lineage{}, err
		}
		pgdata := filepath.Join(s.aside(), "pgdata")
		err = s.Run(ctx, "pg_basebackup", "--pgdata", pgdata, "--wal-method", "stream", "--checkpoint", "fast", "--dbname",
			s.Conninfo(local.ToolPort, ""))
		if err == nil && job.Settings.Values["archive_mode"] == "always" {
			if err = logfiles.OfferCopied(pgdata); err == nil {
				s.files.ReturnSaved(pgdata, past)
			}
		}
		return past, err
	})
	if err == nil {
		s.files.ForgetSaved()
	}
	return err
}

// create has a directory made aside, and renames it once it is whole and on disk. From is the generation of the
// primary that it is copied from, or 0.
func (s *Server) create(ctx context.Context, from protocol.Generation, fill func() (datadir.Lineage, error)) error {
	if _, err := os.Stat(s.data()); err == nil {
		return fmt.Errorf("create a copy of the data: %s exists", s.data())
	}
	if err := os.RemoveAll(s.aside()); err != nil {
		return fmt.Errorf("remove what an interrupted attempt left: %w", err)
	}
	if err := os.MkdirAll(s.aside(), 0o700); err != nil {
		return fmt.Errorf("create a copy of the data: %w", err)
	}
	past, err := fill()
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	made := datadir.Identity{Volume: volume.NewName(4), CopiedIn: from, Lineage: past}
	if err := datadir.WriteIdentity(s.aside(), made); err != nil {
		return err
	}
	if err := os.Rename(s.aside(), s.data()); err != nil {
		return fmt.Errorf("put a copy of the data into place: %w", err)
	}
	if err := disk.Sync(s.Directory); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.identity, s.unfit = made, ""
	return nil
}

// discard removes the copy of the data.
func (s *Server) discard() error {
	if err := s.StopNow(); err != nil {
		return err
	}
	if err := os.RemoveAll(s.aside()); err != nil {
		return fmt.Errorf("remove what an interrupted attempt left: %w", err)
	}
	if err := s.files.Save(); err != nil {
		return err
	}
	err := os.Rename(s.data(), s.aside()) // so that there is a whole copy or none
	if err == nil {
		err = disk.Sync(s.Directory)
	}
	if err != nil {
		return fmt.Errorf("remove the copy of the data: %w", err)
	}
	s.mu.Lock()
	s.identity, s.unfit, s.position = datadir.Identity{}, "", protocol.Position{}
	s.mu.Unlock()
	if err := os.RemoveAll(s.aside()); err != nil {
		return fmt.Errorf("remove the copy of the data: %w", err)
	}
	return nil
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
