// Package progress prints what the driver is doing and how long it took.
package progress

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Log prints lines with the time since it was made. It is safe for
// concurrent use: nodes start side by side.
type Log struct {
	mu    sync.Mutex
	out   io.Writer
	start time.Time
}

// New starts the clock.
func New(out io.Writer) *Log { return &Log{out: out, start: time.Now()} }

// Printf prints one line.
func (l *Log) Printf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.out, "[%6.1fs] %s\n", time.Since(l.start).Seconds(), fmt.Sprintf(format, args...))
}

// While runs work and, should it take long, prints its state every interval: a
// build of ten minutes that prints nothing resembles one that hangs.
func (l *Log) While(what string, interval time.Duration, state func() string, work func() error) error {
	done := make(chan struct{})
	stopped := make(chan struct{})
	start := time.Now()
	go func() {
		defer close(stopped)
		ticks := time.NewTicker(interval)
		defer ticks.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticks.C:
				l.Printf("%s: %s", what, state())
			}
		}
	}()
	err := work()
	close(done)
	<-stopped
	if err == nil {
		l.Printf("%s: done in %s", what, time.Since(start).Round(100*time.Millisecond))
	}
	return err
}
