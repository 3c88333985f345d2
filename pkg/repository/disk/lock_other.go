//go:build !unix || solaris || aix

package disk

import (
	"errors"
	"os"
)

func lock(*os.File) error { return nil }

// release closes before it removes: an open file can't be removed here.
func release(f *os.File, path string) error {
	return errors.Join(f.Close(), os.Remove(path))
}
