//go:build linux

package drivertest

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// RunningIn returns the processes whose working directory is a directory or below it: all of a server's.
func RunningIn(directory string) (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		cwd, err := os.Readlink("/proc/" + e.Name() + "/cwd")
		if err == nil && (cwd == directory || strings.HasPrefix(cwd, directory+"/")) {
			pids = append(pids, pid)
			var status syscall.WaitStatus
			_, _ = syscall.Wait4(pid, &status, syscall.WNOHANG, nil) // of those that lost their parent
		}
	}
	return pids
}
