//go:build linux

package process

import (
	"runtime"

	"golang.org/x/sys/unix"
)

const (
	// AgentSlack, in nanoseconds, is for agents, whose shortest time is 20 ms. To wake up costs more than what an agent
	// does then, and half of it was the watch that the Go runtime keeps every 20 µs, as long as anything runs.
	AgentSlack uintptr = 1_000_000
	// serverSlack is the kernel's own default, for servers that agents start.
	serverSlack uintptr = 50_000
)

// WithSlack calls start. The kernel may end a wait of the process that this starts later by so much, together with
// others (PR_SET_TIMERSLACK in prctl(2)); what comes in wakes it up at once. Where the kernel refuses, start is called
// all the same.
func WithSlack(nanoseconds uintptr, start func() error) error {
	runtime.LockOSThread() // a process inherits the slack of the thread that starts it
	defer runtime.UnlockOSThread()
	before, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err == nil && unix.Prctl(unix.PR_SET_TIMERSLACK, nanoseconds, 0, 0, 0) == nil {
		// The kernel took another value before.
		defer func() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(before), 0, 0, 0) }()
	}
	return start()
}
