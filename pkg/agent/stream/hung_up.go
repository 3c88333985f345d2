//go:build linux

package stream

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// hungUp says whether the other end of a connection is closed. Nothing is read.
func hungUp(c net.Conn) bool {
	s, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return true
	}
	gone := false
	err = raw.Control(func(fd uintptr) {
		ends := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}} //nolint:gosec // a descriptor is small
		n, err := unix.Poll(ends, 0)
		gone = err == nil && n > 0
	})
	return gone || err != nil
}
