package boltfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// readAhead does what it can: without it, reads only take longer.
func readAhead(f *os.File, part extent) {
	c, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = c.Control(func(fd uintptr) { _ = unix.Fadvise(int(fd), part.offset, part.length, unix.FADV_WILLNEED) })
}
