package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// Writeback asks the system to begin writing a part of a file to its disk, and does not wait: a Sync at the end
// then finds little left. It promises nothing.
func Writeback(f *os.File, offset, length int64) {
	c, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = c.Control(func(fd uintptr) {
		// A file system that can't do it does it at the Sync.
		_ = unix.SyncFileRange(int(fd), offset, length, unix.SYNC_FILE_RANGE_WRITE)
	})
}
