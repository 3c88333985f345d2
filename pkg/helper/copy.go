package helper

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/disk"
)

// ErrCopied: the directory to copy to is there already.
var ErrCopied = errors.New("target exists already")

// CopyData copies a data directory, of which it only reads, to a path that
// does not exist. A crash leaves nothing there, and maybe a directory that
// ends in .part, which the next run removes.
func CopyData(from, to string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("copy %s to %s: %w", from, to, err)
		}
	}()
	if _, err := os.Lstat(to); err == nil {
		return ErrCopied
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	part := to + ".part"
	if err := os.RemoveAll(part); err != nil {
		return err
	}
	if err := os.CopyFS(part, os.DirFS(from)); err != nil {
		return err
	}
	// A database refuses a directory that others may read.
	err = filepath.WalkDir(part, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return os.Chmod(path, 0o700) //nolint:gosec // a directory
	})
	if err == nil {
		err = disk.SyncTree(part)
	}
	if err == nil {
		err = os.Rename(part, to)
	}
	return err
}
