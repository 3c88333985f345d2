package helper

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestCopyData(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "data")
	if err := os.MkdirAll(filepath.Join(from, "member", "wal"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(from, "member", "wal", "0.wal"), []byte("log"), 0o600); err != nil {
		t.Fatal(err)
	}
	// What a crash left.
	if err := os.MkdirAll(filepath.Join(to+".part", "member", "old"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := CopyData(from, to); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(to, "member", "wal", "0.wal")); err != nil || string(got) != "log" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(to, "member", "old")); err == nil {
		t.Error("remains of a crash are in the copy")
	}
	for _, dir := range []string{to, filepath.Join(to, "member", "wal")} {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", dir, info.Mode(), err)
		}
	}
	if err := CopyData(from, to); !errors.Is(err, ErrCopied) {
		t.Errorf("a second copy over the first: %v", err)
	}
	if err := CopyData(filepath.Join(from, "absent"), to+"2"); err == nil {
		t.Error("a copy of nothing passes")
	}
	if _, err := os.Stat(to + "2"); err == nil {
		t.Error("a copy of nothing is there")
	}
}
