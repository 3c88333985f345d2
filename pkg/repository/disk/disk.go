// Package disk holds what durable files need from an operating system beyond
// package os: free space, locks that die with their holder, and directories
// whose entries survive a power cut.
package disk

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// ErrLocked: another process, or another part of this one, holds the lock.
var ErrLocked = errors.New("locked by another process")

// SyncDir makes the entries of a directory durable: without it a rename or a
// removal may be undone by a power cut.
func SyncDir(dir string) error {
	d, err := os.Open(filepath.Clean(dir))
	if err != nil {
		return fmt.Errorf("make directory %s durable: %w", dir, err)
	}
	defer func() { _ = d.Close() }()
	if err := d.Sync(); err != nil && !syncUnsupported(err) {
		return fmt.Errorf("make directory %s durable: %w", dir, err)
	}
	return nil
}

// syncs is how many files SyncTree flushes at once: one after the other, each waits for a write of the journal that
// one write could serve for several.
const syncs = 8

// SyncTree makes every regular file and directory under root durable, for
// trees that a foreign program wrote. A repeat does no harm.
func SyncTree(root string) error {
	var failed [syncs]error
	var flushing sync.WaitGroup
	work := make(chan func() error)
	for i := range syncs {
		flushing.Go(func() {
			for do := range work {
				failed[i] = cmp.Or(failed[i], do())
			}
		})
	}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("make %s durable: %w", root, err)
		}
		switch {
		case entry.IsDir():
			work <- func() error { return SyncDir(path) }
		case entry.Type().IsRegular():
			work <- func() error { return syncFile(path) }
		}
		return nil
	})
	close(work)
	flushing.Wait()
	for _, other := range failed {
		err = cmp.Or(err, other)
	}
	return err
}

// Replace writes a small file so that a crash leaves the old content or the
// new one, never a mixture. A crash may also leave path with ".part" appended,
// which the next Replace overwrites.
func Replace(path string, content []byte) (err error) {
	part := path + ".part"
	f, err := os.OpenFile(filepath.Clean(part), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(part, path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, errors.Join(err, os.Remove(part)))
	}
	return SyncDir(filepath.Dir(path))
}

func syncFile(path string) error {
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return fmt.Errorf("make %s durable: %w", path, err)
	}
	defer func() { _ = f.Close() }()
	if err := f.Sync(); err != nil {
		return fmt.Errorf("make %s durable: %w", path, err)
	}
	return nil
}
