//go:build linux

package process

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// slackOf is by how much the kernel may delay the waits of a process.
func slackOf(t *testing.T, pid int) time.Duration {
	t.Helper()
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/timerslack_ns")
	if err != nil {
		t.Skipf("the kernel does not tell: %v", err)
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(n)
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
	for cmd, want := range map[*exec.Cmd]time.Duration{agent: AgentSlack, server: serverSlack} {
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		if got := slackOf(t, cmd.Process.Pid); got != want {
			t.Errorf("the slack is %s, want %s", got, want)
		}
	}
}
