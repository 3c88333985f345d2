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

// savedLog is where they are while a copy is made again, after a rewind that ended in the middle.
func (c Config) savedLog() string { return filepath.Join(c.Directory, "kept-log") }

// keepLog sets such files aside, as links: that takes no room. A repeat begins again. What can't be set aside is
// reported: a copy that does not follow is worse than a gap.
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
		if past.Needs(name) != datadir.Needed {
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

// returnLog puts back what was set aside, before the server starts.
func (s *Server) returnLog() {
	if s.putBack(s.keptLog(), s.pgdata(), func(string) bool { return true }) {
		s.forgetKept(s.keptLog())
	}
}

// saveLog has what was set aside outlive the copy, which is removed next.
func (s *Server) saveLog() error {
	if _, err := os.Stat(s.keptLog()); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	err := os.RemoveAll(s.savedLog())
	if err == nil {
		err = os.Rename(s.keptLog(), s.savedLog())
	}
	if err != nil {
		return fmt.Errorf("keep what waits for the archive: %w", err)
	}
	return nil
}

// returnSaved puts into a new copy, which is not in use yet, what its history needs of that. It stays until the copy is
// in place.
func (s *Server) returnSaved(pgdata string, past datadir.Lineage) {
	s.putBack(s.savedLog(), pgdata, func(name string) bool { return past.Needs(name) == datadir.Needed })
}

// putBack has files wait for the archive again, whatever became of them, and says whether all do. What fails is
// reported.
func (s *Server) putBack(from, pgdata string, needed func(name string) bool) bool {
	found, err := os.ReadDir(from)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	wal := filepath.Join(pgdata, "pg_wal")
	failed := []error{err}
	for _, f := range found {
		if needed(f.Name()) {
			failed = append(failed, waitAgain(filepath.Join(from, f.Name()), wal, f.Name()))
		}
	}
	failed = append(failed, disk.Sync(filepath.Join(wal, "archive_status")), disk.Sync(wal))
	if err := errors.Join(failed...); err != nil {
		s.Report("the archive will lack a part of the log: " + err.Error())
		return false
	}
	return true
}

func (s *Server) forgetKept(directory string) {
	if err := os.RemoveAll(directory); err != nil {
		s.Report("remove what was kept of the log: " + err.Error())
	}
}

// waitAgain has one file wait for the archive again.
func waitAgain(kept, wal, name string) error {
	mark := filepath.Join(wal, "archive_status", name)
	if err := os.Link(kept, filepath.Join(wal, name)); err != nil && !errors.Is(err, fs.ErrExist) {
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
