//go:build linux

package disk

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Reserve takes room on the volume for the first bytes of a file, also beyond its end: what is written there finds room
// on a full disk. The file is as long as before. A repeat takes nothing more. A file system that can't do that gives an
// error.
func Reserve(path string, bytes int64) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0) //nolint:gosec // the path is ours
	if err != nil {
		return fmt.Errorf("reserve room: %w", err)
	}
	if err := errors.Join(unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, bytes), f.Close()); err != nil {
		return fmt.Errorf("reserve room for %s: %w", path, err)
	}
	return nil
}
