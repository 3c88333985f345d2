package disk

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestDisk runs the real thing, where that is possible: it takes 0.3 s.
func TestDisk(t *testing.T) {
	if _, err := exec.LookPath("mkfs.xfs"); err != nil || os.Geteuid() != 0 || testing.Short() {
		t.Skip("needs root and xfsprogs")
	}
	store := Store{Dir: t.TempDir()}
	ctx := t.Context()
	if err := store.Create(ctx, "a", 1<<20); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Delete(ctx, "a"); err != nil {
			t.Error(err)
		}
		left, err := os.ReadDir(store.Dir)
		if err != nil || len(left) > 0 {
			t.Errorf("%v, %v is left", left, err)
		}
	}()
	if err := store.Create(ctx, "a", 1<<20); err != nil {
		t.Errorf("create again: %v", err)
	}
	file := filepath.Join(store.Mount("a"), "big")
	if err := fill(file, 320<<20); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("write more than the disk holds: %v, want that there is no space", err)
	}
	if err := store.Grow(ctx, "a", 600<<20); err != nil {
		t.Fatal(err)
	}
	if err := fill(file, 400<<20); err != nil {
		t.Errorf("write after the disk grew: %v", err)
	}
	if err := store.Grow(ctx, "a", 600<<20); err != nil {
		t.Errorf("grow again: %v", err)
	}
}

// fill reserves space for a file, which is as good as writing it.
func fill(path string, size int64) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return unix.Fallocate(int(file.Fd()), 0, 0, size)
}
