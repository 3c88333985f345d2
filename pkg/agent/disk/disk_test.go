package disk

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReplace(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file.json")
	var got map[string]int
	if there, err := Read(path, &got); there || err != nil {
		t.Fatalf("read what is not there: %v, %v", there, err)
	}
	for _, n := range []int{1, 2} {
		if err := Replace(path, map[string]int{"n": n}); err != nil {
			t.Fatal(err)
		}
		if there, err := Read(path, &got); !there || err != nil || got["n"] != n {
			t.Fatalf("wrote %d, read %v: %v, %v", n, got, there, err)
		}
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("%d files are left: %v", len(left), err)
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path, &got); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a broken file gives %v", err)
	}
}

func TestLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	first, err := Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(path); err == nil || !strings.Contains(err.Error(), "another agent") {
		t.Errorf("a second claim gives %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	_ = again.Close()
}
