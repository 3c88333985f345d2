package etcd

import (
	"os"
	"syscall"
	"time"
)

// forgetEvery is the pause between two times that mapped pages are given up:
// so much of a file as is read meanwhile stays in memory.
const forgetEvery = 5 * time.Millisecond

// forget gives mapped pages of a file back to the system while they are read,
// again and again until the returned function is called. The system has them in
// its cache anyway; held, they count as memory of this process, and a pod is
// killed for a backup that is larger than its limit.
func forget(mapped uintptr, path string) (stop func()) {
	info, err := os.Stat(path)
	if err != nil || mapped == 0 {
		return func() {}
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(forgetEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				// Advice that is not taken changes nothing.
				_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, mapped, uintptr(info.Size()), syscall.MADV_DONTNEED) // #nosec G115 -- a file's size fits
			case <-done:
				return
			}
		}
	}()
	return func() { close(done); <-ended }
}
