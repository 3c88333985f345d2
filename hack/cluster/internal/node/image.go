package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/process"
)

// imagesFile lists the archives that the node imported, in which state.
const imagesFile = "images"

// Load imports an image archive.
func (n Node) Load(ctx context.Context, file string) error {
	line, err := state(file)
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, "ctr", "--address", n.socket(), "--namespace", "k8s.io", "images", "import", file)
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("import %s into node %s: %w: %s", file, n.Name, err, process.LastLines(string(output), 5))
	}
	known, err := n.imported()
	if err != nil || slices.Contains(known, line) {
		return err
	}
	return n.write(imagesFile, []byte(strings.Join(append(known, line), "\n")))
}

// Has says whether the node imported an archive in its present state.
func (n Node) Has(file string) bool {
	line, err := state(file)
	if err != nil {
		return false
	}
	known, err := n.imported()
	return err == nil && slices.Contains(known, line)
}

func (n Node) imported() ([]string, error) {
	content, err := os.ReadFile(n.path(imagesFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read which images node %s has: %w", n.Name, err)
	}
	var lines []string
	for line := range strings.Lines(string(content)) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines, nil
}

// state tells one build of an archive from the next.
func state(file string) (string, error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", fmt.Errorf("read the state of an image archive: %w", err)
	}
	return fmt.Sprintf("%s@%d", file, info.ModTime().UnixNano()), nil
}
