//go:build linux || darwin || freebsd

package disk

import (
	"errors"
	"fmt"
	"math"
	"syscall"
)

// Free is how many bytes an unprivileged process may still write under path.
// It wraps errors.ErrUnsupported where the system can't say.
func Free(path string) (int64, error) {
	free, _, err := Usage(path)
	return free, err
}

// Usage is how many bytes are free under path, as Free says, and how many the
// file system has. It wraps errors.ErrUnsupported where the system can't say.
func Usage(path string) (free, total int64, err error) {
	var st syscall.Statfs_t
	for {
		err := syscall.Statfs(path, &st)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return 0, 0, fmt.Errorf("ask for the free space under %s: %w", path, err)
		}
		break
	}
	size := signed(st.Bsize)
	// BSD counts below zero once only the reserve of root is left.
	return inBytes(max(signed(st.Bavail), 0), size), inBytes(signed(st.Blocks), size), nil
}

// inBytes multiplies, up to what a count of bytes can hold.
func inBytes(blocks, size int64) int64 {
	if size > 0 && blocks > math.MaxInt64/size {
		return math.MaxInt64
	}
	return blocks * size
}

// signed levels the types that the systems chose for their counts.
func signed[N int64 | uint64 | uint32](n N) int64 { return int64(n) }

// Full reports whether an error means that a disk or a quota is exhausted.
func Full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// syncUnsupported tells the file systems that can't sync a directory, and need
// not, from those that failed to.
func syncUnsupported(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported)
}
