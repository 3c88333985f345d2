package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

const (
	// mostMemory is what guard and agent of one member may hold together.
	mostMemory = 32 << 20
	// mostProcessor is the part of a core that both may use at rest.
	mostProcessor = 0.005
	restTime      = 15 * time.Second
)

// use is what a process holds in memory, and the processor time that it has used.
func use(t *testing.T, pid int) (memory int64, processor time.Duration) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if kilobytes, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, err := strconv.ParseInt(strings.Fields(kilobytes)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			memory = n << 10
		}
	}
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		raw, err := os.ReadFile(task)
		if err != nil {
			t.Fatal(err)
		}
		nanoseconds, err := strconv.ParseInt(strings.Fields(string(raw))[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		processor += time.Duration(nanoseconds)
	}
	return memory, processor
}

// TestRest and TestRestValkey measure memory after writes, and processor time without any. They run where DBOP_TORTURE
// is all, or -rest is set: each takes a minute in which nothing else may run.
func TestRest(t *testing.T) { rest(t, postgres{}) }

func TestRestValkey(t *testing.T) { rest(t, valkey{}) }

func rest(t *testing.T, of engine) {
	if !torture() && !*restFlag {
		t.Skip("-rest is not set")
	}
	s := begin(t, options{durability: protocol.Preferred, members: 3, engine: of, slow: true}, 1)
	time.Sleep(3 * time.Second)
	s.clients.check(t)
	time.Sleep(3 * time.Second)
	p := s.awaitPrimary()
	type total struct {
		memory    int64
		processor time.Duration
	}
	measure := func(m *member) (both total) {
		guard, agent, _ := m.processes()
		for _, pid := range []int{guard, agent} {
			memory, processor := use(t, pid)
			t.Logf("%s %d: %.1f MB, %s", m.id, pid, float64(memory)/(1<<20), processor)
			both.memory, both.processor = both.memory+memory, both.processor+processor
		}
		return both
	}
	before := map[*member]total{}
	for _, m := range s.members {
		before[m] = measure(m)
	}
	began := time.Now()
	time.Sleep(restTime)
	for _, m := range s.members {
		now := measure(m)
		part := float64(now.processor-before[m].processor) / float64(time.Since(began))
		t.Logf("%s, primary %t: %.1f MB, %.2f %% of a core", m.id, m == p, float64(now.memory)/(1<<20), 100*part)
		if now.memory > mostMemory {
			t.Errorf("guard and agent of %s hold %d bytes, more than %d", m.id, now.memory, mostMemory)
		}
		if part > mostProcessor {
			t.Logf("guard and agent of %s use more than %.1f %% of a core", m.id, 100*mostProcessor)
		}
	}
}
