package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

// Signal sends a signal to a component that runs.
func Signal(at site.Site, name string, signal syscall.Signal) error {
	if !Alive(at, name) {
		return fmt.Errorf("signal %s: it does not run", name)
	}
	content, err := os.ReadFile(at.PID(name))
	if err != nil {
		return fmt.Errorf("find the process of %s: %w", name, err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return fmt.Errorf("find the process of %s: %w", name, err)
	}
	if err := syscall.Kill(pid, signal); err != nil {
		return fmt.Errorf("signal %s (process %d): %w", name, pid, err)
	}
	return nil
}
