//go:build linux

package postgres

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/disk"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/datadir"
)

// keptLog is where files of the log are during a rewind that wait for the archive. pg_rewind removes what its source
// does not have, and takes from there what counts as archived (decide_file_action in filemap.c). A source that is a
// copy counts all as archived that came with the copy, or does not have it: with an archive that was away meanwhile the
// log would have a gap.
func (c Config) keptLog() string { return filepath.Join(c.data(), "kept-log") }

// keepLog sets such files aside, as links: that takes no room. A repeat begins again, and a copy that is made again has
// none. What can't be set aside is reported: a copy that does not follow is worse than a gap.
func (s *Server) keepLog(past datadir.Lineage) error {
	if err := os.RemoveAll(s.keptLog()); err != nil {
		return fmt.Errorf("keep what waits for the archive: %w", err)
	}
	ready, err := s.waiting()
	if err != nil {
		return err
	}
	var failed []error
	for _, name := range ready {
		if needs(past, name) != needed {
			continue
		}
		err := os.MkdirAll(s.keptLog(), 0o700)
		if err == nil {
			err = os.Link(filepath.Join(s.pgdata(), "pg_wal", name), filepath.Join(s.keptLog(), name))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, err)
		}
	}
	if err := errors.Join(failed...); err != nil {
		s.Report("the archive will lack a part of the log: " + err.Error())
	}
	return nil
}

// returnLog puts back what was set aside, before the server starts. After a crash in the middle the copy is made again.
func (s *Server) returnLog() {
	found, err := os.ReadDir(s.keptLog())
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	wal := filepath.Join(s.pgdata(), "pg_wal")
	failed := []error{err}
	for _, f := range found {
		failed = append(failed, s.putBack(f.Name()))
	}
	failed = append(failed, disk.Sync(filepath.Join(wal, "archive_status")), disk.Sync(wal))
	if err := errors.Join(failed...); err != nil {
		s.Report("the archive will lack a part of the log: " + err.Error())
		return
	}
	if err := os.RemoveAll(s.keptLog()); err != nil {
		s.Report("remove what was kept of the log: " + err.Error())
	}
}

// putBack has a file wait for the archive again, whatever the rewind made of it.
func (s *Server) putBack(name string) error {
	wal := filepath.Join(s.pgdata(), "pg_wal")
	mark := filepath.Join(wal, "archive_status", name)
	err := os.Link(filepath.Join(s.keptLog(), name), filepath.Join(wal, name))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := os.WriteFile(mark+".ready", nil, 0o600); err != nil {
		return err
	}
	if err := os.Remove(mark + ".done"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
