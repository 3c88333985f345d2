//go:build linux

package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/disk"
)

var _ api.Incrementer = (*Server)(nil)

const (
	// incrementalMajor is the first version that can copy only what changed.
	incrementalMajor = 17
	// mostBases is how many repositories may have a base: each has its newest.
	mostBases = 3

	baseFile     = "base.json"
	baseManifest = "backup_manifest"
)

// bases is a directory in that of the data: a copy of the data that is made again has no log of before, and its bases
// are gone with it.
func (s *Server) bases() string { return filepath.Join(s.data(), "bases") }

// Bases implements api.Incrementer.
func (s *Server) Bases() []api.Base {
	entries, err := os.ReadDir(s.bases())
	if err != nil {
		return nil
	}
	var all []api.Base
	for _, e := range slices.Backward(entries) {
		var b api.Base
		if found, err := disk.Read(filepath.Join(s.bases(), e.Name(), baseFile), &b); found && err == nil &&
			b.Backup == e.Name() {
			all = append(all, b)
		}
	}
	return all
}

// KeepBase implements api.Incrementer. What a crash leaves has no description, and goes with the next one.
func (s *Server) KeepBase(ctx context.Context, b api.Base, content []byte) error {
	if b.Backup == "" || b.Backup != filepath.Base(b.Backup) || b.Backup[0] == '.' {
		return api.Refused{Why: fmt.Sprintf("%q is no identifier of a backup", b.Backup)}
	}
	if err := s.summarizes(ctx); err != nil {
		return err
	}
	directory := filepath.Join(s.bases(), b.Backup)
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return fmt.Errorf("keep the manifest of backup %s: %w", b.Backup, err)
	}
	err := disk.ReplaceBytes(filepath.Join(directory, baseManifest), content)
	if err == nil {
		err = disk.Replace(filepath.Join(directory, baseFile), b)
	}
	if err != nil {
		return err
	}
	return s.forgetBases(b)
}

// forgetBases keeps a base, and the newest of other repositories.
func (s *Server) forgetBases(newest api.Base) error {
	kept := map[string]string{newest.Repository: newest.Backup}
	for _, b := range s.Bases() {
		if kept[b.Repository] == "" && len(kept) < mostBases {
			kept[b.Repository] = b.Backup
		}
	}
	entries, err := os.ReadDir(s.bases())
	if err != nil {
		return fmt.Errorf("forget the manifests of earlier backups: %w", err)
	}
	var errs []error
	for _, e := range entries {
		stays := false
		for _, backup := range kept {
			stays = stays || backup == e.Name()
		}
		if !stays {
			errs = append(errs, s.forgetBase(e.Name()))
		}
	}
	return errors.Join(errs...)
}

// forgetBase takes away that it is one first.
func (s *Server) forgetBase(backup string) error {
	directory := filepath.Join(s.bases(), backup)
	err := os.Remove(filepath.Join(directory, baseFile))
	if err == nil || os.IsNotExist(err) {
		err = os.RemoveAll(directory)
	}
	if err != nil {
		return fmt.Errorf("forget the manifest of backup %s: %w", backup, err)
	}
	return nil
}

// summarizes refuses unless the server notes which blocks change.
func (s *Server) summarizes(ctx context.Context) error {
	if s.Major < incrementalMajor {
		return api.Refused{Why: fmt.Sprintf("PostgreSQL %d can't copy only what changed: that takes %d or later", s.Major,
			incrementalMajor)}
	}
	got, err := s.Once(ctx, "SHOW summarize_wal")
	if err != nil {
		return err
	}
	if got[0][0][0] != "on" {
		return api.Refused{Why: "the server does not note which blocks change: summarize_wal is off"}
	}
	return nil
}

// Checkpoint implements api.Incrementer.
func (s *Server) Checkpoint(ctx context.Context) (uint64, error) {
	if err := s.summarizes(ctx); err != nil {
		return 0, err
	}
	got, err := s.Once(ctx, "CHECKPOINT; SELECT pg_current_wal_insert_lsn() - '0/0'")
	if err != nil {
		return 0, err
	}
	at, err := strconv.ParseUint(got[1][0][0], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read where the log ends: %w", err)
	}
	return at, nil
}

const (
	// catchUp is how long a replica may take to a checkpoint of the primary.
	catchUp = time.Minute
	// notNoted is what the server says where it did not note all changes.
	notNoted = "WAL summaries are required"
)

// Reached implements api.Incrementer.
func (s *Server) Reached(ctx context.Context, upTo uint64) error {
	ctx, stop := context.WithTimeout(ctx, catchUp)
	defer stop()
	for {
		got, err := s.Once(ctx, fmt.Sprintf("SELECT NOT pg_is_in_recovery() OR pg_last_wal_replay_lsn() - '0/0' >= %d", upTo))
		if err != nil {
			return err
		}
		if got[0][0][0] == "t" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s has not replayed the log up to the last checkpoint of the primary: %w", s.ID, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Increment implements api.Incrementer.
func (s *Server) Increment(ctx context.Context, backup string, w io.Writer) error {
	if !slices.ContainsFunc(s.Bases(), func(b api.Base) bool { return b.Backup == backup }) {
		return api.Refused{Why: fmt.Sprintf("%s does not have the manifest of backup %s", s.ID, backup)}
	}
	if err := s.summarizes(ctx); err != nil {
		return err
	}
	held, err := s.holdLog(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = held.Close(context.WithoutCancel(ctx)) }()
	err = s.backUp(ctx, w, "--incremental", filepath.Join(s.bases(), backup, baseManifest))
	if err != nil && strings.Contains(err.Error(), notNoted) {
		return errors.Join(api.Refused{Why: fmt.Sprintf("%s has not noted all changes since backup %s: %v", s.ID, backup,
			err)}, s.forgetBase(backup))
	}
	return err
}
