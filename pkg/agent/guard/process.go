//go:build linux

package guard

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// killAll kills every process below this one until none is left, and reaps it.
func (g *Guard) killAll() {
	for {
		for _, pid := range descendants(os.Getpid()) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
		for {
			pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			if errors.Is(err, syscall.ECHILD) {
				return
			}
			if err == nil && pid == 0 {
				break // killed, and not dead yet
			}
		}
		time.Sleep(killInterval)
	}
}

// reap collects every child that ends until the one with a number did.
func reap(until int) {
	for {
		pid, err := syscall.Wait4(-1, nil, 0, nil)
		if pid == until || errors.Is(err, syscall.ECHILD) {
			return
		}
	}
}

// descendants returns the processes below one.
func descendants(of int) []int {
	children := map[int][]int{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		raw, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		// The name of the program, in brackets, may hold anything.
		fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
		if len(fields) > 1 && fields[0] != "Z" { // one that is dead and waits to be reaped does nothing
			if parent, err := strconv.Atoi(fields[1]); err == nil {
				children[parent] = append(children[parent], pid)
			}
		}
	}
	var all []int
	for next := children[of]; len(next) > 0; {
		pid := next[0]
		next = append(next[1:], children[pid]...)
		all = append(all, pid)
	}
	return all
}
