package repository

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/disk"
)

// Probe proves that a backup could be written: in the directory or, while it
// is not there, in the nearest one above it that is. Permission bits don't
// tell that of a read-only or remote file system, so an empty file is made and
// removed. free is how many bytes are left, -1 where the system can't say.
func (d *Directory) Probe(context.Context) (free int64, err error) {
	at := d.path
	for {
		info, err := os.Stat(at)
		if err == nil && !info.IsDir() {
			return 0, fmt.Errorf("write to %s: %s is not a directory", d.URL(), at)
		}
		if err == nil {
			break
		}
		if above := filepath.Dir(at); errors.Is(err, fs.ErrNotExist) && above != at {
			at = above
			continue
		}
		return 0, fmt.Errorf("write to %s: %w", d.URL(), err)
	}
	f, err := os.CreateTemp(at, ".kubectl-dbop-*"+partSuffix)
	if err != nil {
		return 0, d.explain(err, "write")
	}
	if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
		return 0, d.explain(err, "write")
	}
	if free, err = disk.Free(at); err != nil {
		return -1, nil //nolint:nilerr // a directory that can be written is fine without that figure
	}
	return free, nil
}
