//go:build linux

package guard

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// alarm fires at an instant of CLOCK_BOOTTIME, at once if the machine slept past it. Go's own timers stop while the
// machine sleeps.
type alarm struct {
	file *os.File
	// rings has a value after the alarm fired.
	rings chan struct{}
}

func newAlarm() (*alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("make a timer on CLOCK_BOOTTIME: %w", err)
	}
	a := &alarm{file: os.NewFile(uintptr(fd), "alarm"), rings: make(chan struct{}, 1)}
	go func() {
		for count := make([]byte, 8); ; {
			if _, err := a.file.Read(count); err != nil {
				return
			}
			select {
			case a.rings <- struct{}{}:
			default:
			}
		}
	}()
	return a, nil
}

// set replaces the instant; 0 is never.
func (a *alarm) set(at protocol.Instant) error {
	raw, err := a.file.SyscallConn()
	if err == nil {
		var failed error
		err = raw.Control(func(fd uintptr) {
			spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(at))}
			failed = unix.TimerfdSettime(int(fd), unix.TFD_TIMER_ABSTIME, &spec, nil)
		})
		if err == nil {
			err = failed
		}
	}
	if err != nil {
		return fmt.Errorf("set the timer of the deadline: %w", err)
	}
	return nil
}

func (a *alarm) close() { _ = a.file.Close() }
