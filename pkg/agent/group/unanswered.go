package group

import (
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// unansweredTime is how long the kernel repeats what the other side does not acknowledge. Otherwise it goes on for a
// quarter of an hour, less and less often, and a member that was cut off hears nothing for long after it is back.
const unansweredTime = 3 * time.Second

// unanswered has a socket end by itself once that time has passed.
func unanswered(_, _ string, socket syscall.RawConn) error {
	var failed error
	err := socket.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT,
			int(unansweredTime.Milliseconds()))
	})
	return errors.Join(err, failed)
}
