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
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// keepEnded has the server keep each file of the log that is whole and has no mark: neither that it waits for the
// archive nor that this has it. There are two of the kind. A standby says that a file is complete when the next one
// begins, so one that is promoted between the two says nothing (XLogWalRcvWrite of PostgreSQL); with archive_timeout a
// log at rest always ends so. And nobody says it of what came with a copy, see OfferCopied. A server marks them when a
// checkpoint would remove them (XLogArchiveCheckDone): that can be days later, and the server that wrote them be lost.
func (f *Files) keepEnded(past datadir.Lineage, position protocol.Position) error {
	wal := filepath.Join(f.Pgdata, "pg_wal")
	found, err := os.ReadDir(wal)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list the log that the archive may lack: %w", err)
	}
	for _, entry := range found {
		name := entry.Name()
		_, number, segment := datadir.SegmentOf(name)
		// What is beyond the position is a file of before that the server has ready to be written.
		if !segment || uint64((number+1)*datadir.SegmentSize) > position.Offset || past.Needs(name) != datadir.Needed {
			continue
		}
		mark := filepath.Join(wal, "archive_status", name)
		known := false
		for _, path := range []string{mark + ".ready", mark + ".done"} { // in this order: the server renames one to the other
			_, err := os.Stat(path)
			known = known || err == nil
		}
		if _, err := os.Stat(filepath.Join(wal, name)); known || err != nil {
			continue
		}
		if err := os.WriteFile(mark+".ready", nil, 0o600); err != nil {
			return fmt.Errorf("keep file %s of the log for the archive: %w", name, err)
		}
	}
	return nil
}

// OfferCopied takes from a copy that is not in use yet the marks that the archive has its log. pg_basebackup sets them
// for all that came with it (mark_file_as_archived in receivelog.c), for servers of which only the primary archives. It
// may be lost before it did: so a copy with archive_mode=always is asked for them, too. A history file waits from now
// on, and a file of the log as soon as it is known to be whole.
func OfferCopied(pgdata string) error {
	status := filepath.Join(pgdata, "pg_wal", "archive_status")
	done, err := filepath.Glob(filepath.Join(status, "*.done"))
	if err == nil && len(done) == 0 {
		return nil
	}
	failed := []error{err}
	for _, path := range done {
		mark := path[:len(path)-len(".done")]
		if _, _, segment := datadir.SegmentOf(filepath.Base(mark)); segment {
			failed = append(failed, os.Remove(path))
		} else {
			failed = append(failed, os.Rename(path, mark+".ready"))
		}
	}
	if err := errors.Join(append(failed, disk.Sync(status))...); err != nil {
		return fmt.Errorf("offer the log of a copy to the archive: %w", err)
	}
	return nil
}
