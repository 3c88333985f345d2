package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "marker")
	for _, content := range []string{"one", "two, and longer", ""} {
		if err := Replace(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != content {
			t.Errorf("read %q, %v", got, err)
		}
	}
	if _, err := os.Stat(path + ".part"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("part: %v", err)
	}
	if err := Replace(filepath.Join(path, "below a file"), nil); err == nil {
		t.Error("wrote below a file")
	}
}

func TestSync(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "a", "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "a", "file"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("absent", filepath.Join(root, "a", "link")); err != nil {
		t.Fatal(err)
	}
	if err := SyncTree(root); err != nil {
		t.Error(err)
	}
	absent := filepath.Join(root, "absent")
	for _, err := range []error{SyncDir(absent), SyncTree(absent)} {
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), absent) {
			t.Errorf("of nothing: %v", err)
		}
	}
}
