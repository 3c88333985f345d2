//go:build linux || darwin || freebsd

package disk

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestFree(t *testing.T) {
	if free, err := Free(t.TempDir()); err != nil || free <= 0 {
		t.Errorf("%d bytes, %v", free, err)
	}
	if _, err := Free(filepath.Join(t.TempDir(), "absent")); err == nil {
		t.Error("space under nothing")
	}
}

func TestFull(t *testing.T) {
	for err, want := range map[error]bool{
		fmt.Errorf("write: %w", &os.PathError{Op: "write", Err: syscall.ENOSPC}): true,
		syscall.EDQUOT: true,
		syscall.EIO:    false,
		fs.ErrExist:    false,
	} {
		if Full(err) != want {
			t.Errorf("Full(%v) = %v", err, !want)
		}
	}
}
