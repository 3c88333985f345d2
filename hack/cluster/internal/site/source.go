package site

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// modulePath is the first line that the go.mod of this module must have.
const modulePath = "module github.com/dbop-dev/kubectl-dbop/hack/cluster"

// FindSource searches for this module upwards from dir: the driver builds the
// cluster's programs from source and may be called from anywhere in the tree.
func FindSource(dir string) (string, error) {
	start, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("resolve %s: %w", dir, err)
	}
	for at := start; ; at = filepath.Dir(at) {
		for _, candidate := range []string{at, filepath.Join(at, "hack", "cluster")} {
			if isSource(candidate) {
				return candidate, nil
			}
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("no hack/cluster above %s: call this from inside the repository or set --source", start)
		}
	}
}

// isSource reports whether dir holds this module.
func isSource(dir string) bool {
	file, err := os.Open(filepath.Join(dir, "go.mod"))
	if err != nil {
		return false
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	return lines.Scan() && strings.TrimSpace(lines.Text()) == modulePath
}
