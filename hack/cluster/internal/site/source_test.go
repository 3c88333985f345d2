package site

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFindSource(t *testing.T) {
	root := t.TempDir()
	source := filepath.Join(root, "hack", "cluster")
	inside := filepath.Join(source, "internal", "deep")
	sibling := filepath.Join(root, "pkg")
	for _, dir := range []string{inside, sibling} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(source, "go.mod"), []byte(modulePath+"\n\ngo 1.26\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{root, inside, sibling, source} {
		got, err := FindSource(from)
		if err != nil || got != source {
			t.Errorf("from %s: %s, %v", from, got, err)
		}
	}
	if got, err := FindSource(t.TempDir()); err == nil {
		t.Errorf("found %s where nothing is", got)
	}
}
