//go:build !linux && !darwin && !freebsd

package disk

import (
	"errors"
	"fmt"
)

// Free is how many bytes an unprivileged process may still write under path.
// It wraps errors.ErrUnsupported where the system can't say.
func Free(path string) (int64, error) {
	return 0, fmt.Errorf("ask for the free space under %s: %w", path, errors.ErrUnsupported)
}

// Usage is how many bytes are free under path, as Free says, and how many the
// file system has. It wraps errors.ErrUnsupported where the system can't say.
func Usage(path string) (free, total int64, err error) {
	free, err = Free(path)
	return free, 0, err
}

// Full reports whether an error means that a disk or a quota is exhausted.
func Full(error) bool { return false }

// syncUnsupported is always true: directories are no files here.
func syncUnsupported(error) bool { return true }
