//go:build linux

package logfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/disk"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/datadir"
)

// Keep sets the files aside that wait and that a history needs, as links: that takes no room. A repeat begins again.
// What can't be set aside is reported: a copy that does not follow is worse than a gap.
func (f *Files) Keep(past datadir.Lineage) error {
	if err := os.RemoveAll(f.Kept); err != nil {
		return fmt.Errorf("keep what waits for the archive: %w", err)
	}
	ready, err := f.Waiting()
	if err != nil {
		return err
	}
	var failed []error
	for _, name := range ready {
		if past.Needs(name) != datadir.Needed {
			continue
		}
		err := os.MkdirAll(f.Kept, 0o700)
		if err == nil {
			err = os.Link(filepath.Join(f.Pgdata, "pg_wal", name), filepath.Join(f.Kept, name))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, err)
		}
	}
	if err := errors.Join(failed...); err != nil {
		f.Report("the archive will lack a part of the log: " + err.Error())
	}
	return nil
}

// Return puts back what Keep set aside, before the server starts.
func (f *Files) Return() {
	if f.putBack(f.Kept, f.Pgdata, func(string) bool { return true }) {
		f.forgetKept(f.Kept)
	}
}

// Save has what was set aside outlive the copy, which is removed next.
func (f *Files) Save() error {
	if _, err := os.Stat(f.Kept); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	err := os.RemoveAll(f.Saved)
	if err == nil {
		err = os.Rename(f.Kept, f.Saved)
	}
	if err != nil {
		return fmt.Errorf("keep what waits for the archive: %w", err)
	}
	return nil
}

// ReturnSaved puts into a new copy, which is not in use yet, what its history needs of that. It stays until the copy is
// in place.
func (f *Files) ReturnSaved(pgdata string, past datadir.Lineage) {
	f.putBack(f.Saved, pgdata, func(name string) bool { return past.Needs(name) == datadir.Needed })
}

// putBack has files wait for the archive again, whatever became of them, and says whether all do. What fails is
// reported.
func (f *Files) putBack(from, pgdata string, needed func(name string) bool) bool {
	found, err := os.ReadDir(from)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	wal := filepath.Join(pgdata, "pg_wal")
	failed := []error{err}
	for _, entry := range found {
		if name := entry.Name(); needed(name) {
			failed = append(failed, waitAgain(filepath.Join(from, name), wal, name))
		}
	}
	failed = append(failed, disk.Sync(filepath.Join(wal, "archive_status")), disk.Sync(wal))
	if err := errors.Join(failed...); err != nil {
		f.Report("the archive will lack a part of the log: " + err.Error())
		return false
	}
	return true
}

// ForgetSaved ends what saving a copy began with.
func (f *Files) ForgetSaved() { f.forgetKept(f.Saved) }

func (f *Files) forgetKept(directory string) {
	if err := os.RemoveAll(directory); err != nil {
		f.Report("remove what was kept of the log: " + err.Error())
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
