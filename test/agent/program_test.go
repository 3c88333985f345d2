package agent

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// built is the directory of the agent's program, and of all clusters.
var built string

func TestMain(m *testing.M) {
	code := 1
	defer func() { os.Exit(code) }()
	dir, err := os.MkdirTemp("", "agents")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	built = dir
	flag.Parse()
	if err := inMemory(dir); err != nil {
		panic(err)
	}
	defer func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) }()
	program := filepath.Join(dir, "dbop-agent")
	if err := build(program); err != nil {
		panic(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		panic(err)
	}
	code = m.Run()
}

// inMemory has clusters live in memory where these tests may mount it. They make and delete gigabytes, and members
// would wait for a disk that no test stalls. What is measured, and make torture, has the disk.
func inMemory(dir string) error {
	if torture() || *allFlag || *busyFlag > 0 || *speedFlag || *restFlag {
		return nil
	}
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=0755,size=8g")
	if err != nil && !errors.Is(err, syscall.EPERM) {
		return fmt.Errorf("mount memory at %s: %w", dir, err)
	}
	return nil
}

// build makes the agent's program, or takes the one that DBOP_AGENT names: where the tests run with another /usr there
// may be no go. Processes are known by the name of the copy, whatever the name of that one is.
func build(program string) error {
	if given := os.Getenv("DBOP_AGENT"); given != "" {
		raw, err := os.ReadFile(given)
		if err != nil {
			return fmt.Errorf("copy the agent: %w", err)
		}
		return os.WriteFile(program, raw, 0o755)
	}
	if out, err := exec.Command("go", "build", "-o", program, "../../cmd/dbop-agent").CombinedOutput(); err != nil {
		return fmt.Errorf("build the agent: %w: %s", err, out)
	}
	return nil
}
