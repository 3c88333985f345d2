package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/test/harness"
)

// watchEvery is the pause between two observations of a process.
const watchEvery = 500 * time.Microsecond

// peakMiB runs a program and returns its largest resident set. It is read from
// /proc while the program runs: what getrusage tells of a child also counts
// the parent that forked it, up to the moment of exec.
func peakMiB(ctx context.Context, c harness.Command, every time.Duration, args ...string) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, commandWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Path, args...) // #nosec G204 -- the programs that are compared
	cmd.Env = os.Environ()
	for k, v := range c.Env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	cmd.Dir = c.Dir
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start %s: %w", c.Path, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick := time.NewTicker(every)
	defer tick.Stop()
	peak := 0.0
	for {
		peak = max(peak, residentMiB(cmd.Process.Pid))
		select {
		case <-tick.C:
		case err := <-ended:
			if err != nil {
				return 0, fmt.Errorf("run %s %s: %w", c.Path, strings.Join(args, " "), err)
			}
			if peak == 0 {
				return 0, errors.New("the program was gone before its memory could be read")
			}
			return peak, nil
		}
	}
}

// residentMiB is the largest resident set of a process so far; 0 if it has gone.
func residentMiB(pid int) float64 { return statusMiB(pid, "VmHWM:") }

// statusMiB is what the kernel tells of the memory of a process; 0 if it has gone.
func statusMiB(pid int, what string) float64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, found := strings.Cut(string(raw), what)
	fields := strings.Fields(rest)
	if !found || len(fields) == 0 {
		return 0
	}
	kib, err := strconv.ParseFloat(fields[0], 64)
	if err != nil {
		return 0
	}
	return kib / 1024
}
