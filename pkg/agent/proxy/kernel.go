//go:build linux

package proxy

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls here are hidden from the Go scheduler. It would else see a thread that sleeps in the kernel between two
// messages, take its processor away, and have its monitor wake up every 20 µs for a while: on a busy machine that was
// a sixth of the cost of a message. None of them may wait for long: a processor of the scheduler waits with it.

// read reads from a descriptor that never waits.
func read(fd int, b []byte) (int, error) { return hidden(unix.SYS_READ, fd, b) }

// write writes to a descriptor that never waits.
func write(fd int, b []byte) (int, error) { return hidden(unix.SYS_WRITE, fd, b) }

func hidden(call uintptr, fd int, b []byte) (int, error) {
	n, _, failed := unix.RawSyscall(call, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), // #nosec G103 -- a buffer
		uintptr(len(b)))
	if failed != 0 {
		return -1, failed
	}
	return int(n), nil
}

// await waits for events as long as rest says, without end if that is negative, and for a first time without the
// scheduler's knowledge. A collection of garbage, and whatever else needs this thread, interrupts it: the error is
// EINTR.
func await(epoll int, events []unix.EpollEvent, first, rest time.Duration) (int, error) {
	if first > 0 {
		n, _, failed := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll),
			uintptr(unsafe.Pointer(&events[0])),                       // #nosec G103 -- a buffer
			uintptr(len(events)), uintptr(first.Milliseconds()), 0, 0) // #nosec G115 -- milliseconds
		if failed != 0 {
			return 0, failed
		}
		if n > 0 {
			return int(n), nil
		}
	}
	if rest < 0 {
		return unix.EpollWait(epoll, events, -1)
	}
	return unix.EpollWait(epoll, events, int(rest.Milliseconds()))
}
