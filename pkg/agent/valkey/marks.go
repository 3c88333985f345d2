//go:build linux

package valkey

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/process"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/pulse"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/logfile"
)

// logTimeout is the setting that has a log kept: how often a file of it is completed.
const logTimeout = "archive-timeout"

// leastLogTimeout is the time between two marks.
const leastLogTimeout = time.Second

func parseLogTimeout(text string) (time.Duration, error) {
	d, err := time.ParseDuration(strings.TrimSpace(text))
	if err != nil || d < leastLogTimeout {
		return 0, fmt.Errorf("%s is %q, and takes a time such as 60s, of a second at least", logTimeout, text)
	}
	return d, nil
}

// marks has the server of a primary write the time into its stream, at its beginning as one and each second.
func (r *recorder) marks(ctx context.Context) {
	var last time.Time
	var cut *process.Process
	for {
		begins := false // then the stream is read from there on, a moment later
		select {
		case <-ctx.Done():
			return
		case <-r.promotion:
			begins = true
		case <-time.After(pulse.Next(time.Second)):
		}
		s := r.server
		s.mu.Lock()
		run, on := s.proc, s.ready && s.promoted > 0 && (s.recording || begins)
		every, err := parseLogTimeout(s.settings.Values[logTimeout])
		s.mu.Unlock()
		if !on || err != nil {
			continue
		}
		due := run != cut || time.Since(last) >= every-time.Second/2
		asking, stop := context.WithTimeout(ctx, observeTimeout)
		_, err = s.ask(asking, logfile.MarkCommand(due)...)
		stop()
		if err == nil && due {
			last, cut = time.Now(), run
		}
	}
}
