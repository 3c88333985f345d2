package process

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

// Signal sends a signal to a component that runs.
func Signal(at site.Site, name string, signal syscall.Signal) error {
	pid, err := running(at, name)
	if err != nil {
		return fmt.Errorf("signal %s: %w", name, err)
	}
	if err := syscall.Kill(pid, signal); err != nil {
		return fmt.Errorf("signal %s (process %d): %w", name, pid, err)
	}
	return nil
}

// running is the process of a component that runs.
func running(at site.Site, name string) (int, error) {
	if !Alive(at, name) {
		return 0, errors.New("it does not run")
	}
	content, err := os.ReadFile(at.PID(name))
	if err != nil {
		return 0, fmt.Errorf("find its process: %w", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return 0, fmt.Errorf("find its process: %w", err)
	}
	return pid, nil
}
