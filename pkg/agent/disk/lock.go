//go:build linux

package disk

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Lock claims a volume until the process ends. A second agent on the same volume gets an error at once.
func Lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the path is ours
	if err != nil {
		return nil, fmt.Errorf("claim the volume: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		err = fmt.Errorf("claim the volume: another agent runs on it (%s is locked): %w", path, err)
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
