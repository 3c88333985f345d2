package lease

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// process identifies one process on one booted machine, so that its death can
// be proven by another process there. Only Linux has what is needed; elsewhere
// nothing is ever proven.
type process struct {
	Host string `json:"host"`
	// Boot changes with every boot, PIDNamespace with every container.
	Boot         string `json:"boot"`
	PIDNamespace string `json:"pidNamespace"`
	PID          int    `json:"pid"`
	// UID, because /proc may hide other users' processes.
	UID int `json:"uid"`
	// Start of the process in clock ticks since boot: process numbers are used again.
	Start string `json:"start"`
}

// processTable reads processes from a /proc file system.
type processTable struct{ root string }

// self describes this process; false if that is not possible here.
func (t processTable) self() (process, bool) {
	p := process{PID: os.Getpid(), UID: os.Getuid()}
	var err error
	if p.Host, err = os.Hostname(); err != nil {
		return process{}, false
	}
	boot, err := os.ReadFile(filepath.Join(t.root, "sys/kernel/random/boot_id"))
	if err != nil {
		return process{}, false
	}
	p.Boot = strings.TrimSpace(string(boot))
	if p.PIDNamespace, err = os.Readlink(filepath.Join(t.root, "self/ns/pid")); err != nil {
		return process{}, false
	}
	p.Start, _ = t.start(p.PID)
	return p, p.Start != ""
}

// dead reports whether the process certainly ended: it ran on this machine,
// since the same boot, in the same process namespace, as the same user, and
// its number is free or was given to another.
func (t processTable) dead(p process) bool {
	self, ok := t.self()
	if !ok || p.Start == "" || p.Host != self.Host || p.Boot != self.Boot || p.PIDNamespace != self.PIDNamespace ||
		p.UID != self.UID {
		return false
	}
	start, gone := t.start(p.PID)
	return gone || (start != "" && start != p.Start)
}

// start returns the start time of a process, and whether there is certainly
// none of that number. A zombie counts as none: it acts no more.
func (t processTable) start(pid int) (start string, gone bool) {
	stat, err := os.ReadFile(filepath.Join(t.root, strconv.Itoa(pid), "stat"))
	if err != nil {
		return "", os.IsNotExist(err)
	}
	// The command, in parentheses, may hold anything; fields count from behind it.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const state, startTime = 0, 19
	if len(fields) <= startTime {
		return "", false
	}
	if fields[state] == "Z" || fields[state] == "X" {
		return "", true
	}
	return fields[startTime], false
}

func (p process) encode() string {
	data, err := json.Marshal(p)
	if err != nil {
		return ""
	}
	return string(data)
}

// decodeProcess returns false for whatever another version of the tool may have written.
func decodeProcess(text string) (process, bool) {
	var p process
	err := json.Unmarshal([]byte(text), &p)
	return p, err == nil && p.PID > 0
}
