package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pinned is an action at one commit, with the tag that it had.
var pinned = regexp.MustCompile(`uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)

// TestActionsArePinned: a tag of somebody else's repository can be moved, a commit can't.
func TestActionsArePinned(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../.github/workflows/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d workflows, %v", len(files), err)
	}
	for _, f := range files {
		content, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(content)) {
			if line = strings.TrimRight(line, "\n"); strings.Contains(line, "uses:") && !pinned.MatchString(line) {
				t.Errorf("%s: %s", f, line)
			}
		}
	}
}
