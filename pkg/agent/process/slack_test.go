//go:build linux

package process

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// slackOf is by how many nanoseconds the kernel may delay the waits of a process.
func slackOf(t *testing.T, pid int) uintptr {
	t.Helper()
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/timerslack_ns")
	if err != nil {
		t.Skipf("the kernel does not tell: %v", err)
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(raw)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return uintptr(n)
}

func TestWithSlack(t *testing.T) {
	agent, server := exec.Command("sleep", "100"), exec.Command("sleep", "100")
	if err := WithSlack(AgentSlack, func() error {
		if err := agent.Start(); err != nil {
			return err
		}
		return WithSlack(serverSlack, server.Start)
	}); err != nil {
		t.Fatal(err)
	}
	for cmd, want := range map[*exec.Cmd]uintptr{agent: AgentSlack, server: serverSlack} {
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		if got := slackOf(t, cmd.Process.Pid); got != want {
			t.Errorf("the slack is %d ns, want %d", got, want)
		}
	}
}
