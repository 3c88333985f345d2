package repository

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/disk"
)

// files are the calls by which a Directory changes a disk, so that tests can
// stop the process at each of them.
type files interface {
	mkdir(dir string) error
	create(path string) (stream, error)
	rename(from, to string) error
	// remove accepts that nothing is there.
	remove(path string) error
	syncDir(dir string) error
}

type stream interface {
	io.WriteCloser
	Sync() error
}

type osFiles struct{}

func (osFiles) mkdir(dir string) error { return os.MkdirAll(dir, 0o700) }

func (osFiles) create(path string) (stream, error) {
	return os.OpenFile(filepath.Clean(path), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
}

func (osFiles) rename(from, to string) error { return os.Rename(from, to) }

func (osFiles) remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (osFiles) syncDir(dir string) error { return disk.SyncDir(dir) }
