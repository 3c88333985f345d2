package diagnostics

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPlugins: kubectl runs the first; a link to the same file is no other program.
func TestPlugins(t *testing.T) {
	root := t.TempDir()
	file := func(dir, name string, mode os.FileMode) string {
		at := filepath.Join(root, dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(dir), mode); err != nil {
			t.Fatal(err)
		}
		return at
	}
	krew, local := file("krew", "kubectl-dbop", 0o755), file("local", "kubectl-dbop", 0o755)
	file("notes", "kubectl-dbop", 0o644)
	file("completion", "kubectl_complete-dbop", 0o755)
	windows := file("windows", "kubectl-dbop.exe", 0o644)
	if err := os.MkdirAll(filepath.Join(root, "dir", "kubectl-dbop"), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(root, "link"), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(krew, filepath.Join(root, "link", "kubectl-dbop")); err != nil {
		t.Fatal(err)
	}
	path := func(dirs ...string) string {
		for i := range dirs {
			dirs[i] = filepath.Join(root, dirs[i])
		}
		return strings.Join(append(dirs, ""), string(filepath.ListSeparator))
	}
	for _, c := range []struct {
		path string
		want []string
	}{
		{"", nil},
		{path("nowhere", "notes", "completion", "dir"), nil},
		{path("krew", "link", "krew"), []string{krew}},
		{path("local", "krew", "windows"), []string{local, krew, windows}},
	} {
		if diff := cmp.Diff(c.want, plugins(c.path)); diff != "" {
			t.Errorf("%s: %s", c.path, diff)
		}
	}
}
