//go:build unix && !solaris && !aix

package disk

import (
	"errors"
	"os"
	"syscall"
)

func lock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return ErrLocked
		case errors.Is(err, errors.ErrUnsupported), errors.Is(err, syscall.ENOLCK):
			// Some network file systems have no locks. The note still keeps
			// other operations out, as the cluster's Lease keeps out a second
			// run of the same one.
			return nil
		}
		return err
	}
}

// release removes before it unlocks: the other way round it could remove the
// file of a new holder.
func release(f *os.File, path string) error {
	return errors.Join(os.Remove(path), f.Close())
}
