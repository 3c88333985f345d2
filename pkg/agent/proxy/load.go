//go:build linux

package proxy

import (
	"runtime"
	"time"
)

const (
	// hiddenTime is how long the loop waits with a processor of the Go scheduler in its hand.
	hiddenTime = 5 * time.Millisecond
	// restTime is how long clients are silent before the agent is at rest.
	restTime = time.Second
)

// load tells the agent whether clients speak, and says how the loop waits for them.
type load struct {
	tell func(busy bool)
	// hide and rest are hiddenTime and restTime.
	hide, rest time.Duration
	// busy says that clients speak, several that the scheduler has more than one processor for them.
	busy, several bool
	// silent is when a round without a client followed one with a client, or zero.
	silent time.Time
}

// newLoad begins at rest. Without tell the agent is always as it is.
func newLoad(tell func(bool)) load {
	if tell == nil {
		tell = func(bool) {}
	}
	return load{tell: tell, hide: hiddenTime, rest: restTime}
}

// hidden is how long the loop waits first, unseen by the scheduler.
func (l *load) hidden() time.Duration {
	if !l.several { // all of the agent would wait with it
		return 0
	}
	return l.hide
}

// wait is how long the loop waits then, negative for without end.
func (l *load) wait() time.Duration {
	if !l.busy {
		return -1
	}
	return l.rest
}

// note ends a round. It reads no clock while clients speak.
func (l *load) note(speak bool) {
	switch {
	case speak:
		l.silent = time.Time{}
		if !l.busy {
			l.tell(true)
			l.busy, l.several = true, runtime.GOMAXPROCS(0) > 1
		}
	case !l.busy:
	case l.silent.IsZero():
		l.silent = time.Now()
	case time.Since(l.silent) >= l.rest:
		l.busy, l.several = false, false
		l.tell(false)
	}
}
