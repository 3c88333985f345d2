package agent

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// strike sends a signal to a process of a member as soon as that is seen to run. A signal to process 0 would go to the
// tests themselves.
func (m *member) strike(process func() int, sig syscall.Signal) {
	m.site.t.Helper()
	m.site.wait("a process of "+string(m.id), func() bool {
		pid := process()
		return pid > 0 && syscall.Kill(pid, sig) == nil
	})
}

// below returns the processes below one.
func below(of int) (all []int) {
	children := map[int][]int{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		raw, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
		if len(fields) > 1 && fields[0] != "Z" {
			parent, _ := strconv.Atoi(fields[1])
			children[parent] = append(children[parent], pid)
		}
	}
	for next := children[of]; len(next) > 0; {
		pid := next[0]
		next = append(next[1:], children[pid]...)
		all = append(all, pid)
	}
	return all
}

// working returns the processes whose working directory lies below one.
func working(in string) (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if cwd, err := os.Readlink("/proc/" + e.Name() + "/cwd"); err == nil && strings.HasPrefix(cwd, in+"/") {
			pids = append(pids, pid)
		}
	}
	return pids
}
