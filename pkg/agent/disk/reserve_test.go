//go:build linux

package disk

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestReserve(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	if err := Reserve(path, 1<<20); err == nil {
		t.Error("there is no file, and no error")
	}
	if err := os.WriteFile(path, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := Reserve(path, 1<<20); err != nil {
			t.Fatal(err)
		}
		var s unix.Stat_t
		if err := unix.Stat(path, &s); err != nil || s.Size != 7 || s.Blocks*512 < 1<<20 || s.Blocks*512 > 1<<20+1<<16 {
			t.Errorf("it is %d bytes long, and takes %d: %v", s.Size, s.Blocks*512, err)
		}
	}
}
