package agent

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
	program := filepath.Join(dir, "dbop-agent")
	if err := build(program); err != nil {
		panic(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		panic(err)
	}
	code = m.Run()
}

// build makes the agent's program, or takes the one that DBOP_AGENT names: where the tests run with another /usr there
// may be no go.
func build(program string) error {
	if given := os.Getenv("DBOP_AGENT"); given != "" {
		return os.Symlink(given, program)
	}
	if out, err := exec.Command("go", "build", "-o", program, "../../cmd/dbop-agent").CombinedOutput(); err != nil {
		return fmt.Errorf("build the agent: %w: %s", err, out)
	}
	return nil
}
