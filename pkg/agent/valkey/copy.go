//go:build linux

package valkey

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/disk"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/datadir"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/volume"
)

// boot identifies the present run of the machine's kernel.
func boot() string {
	raw, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return volume.NewName(8) // it is never equal, so nothing counts on it
	}
	return strings.TrimSpace(string(raw))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// replaceCopy puts the copy that was made aside into the place of the one before it, which is removed. A crash between
// is repaired by repairCopy.
func (c Config) replaceCopy() error {
	if err := os.RemoveAll(c.old()); err != nil {
		return fmt.Errorf("remove an old copy of the data: %w", err)
	}
	if err := os.Rename(c.data(), c.old()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("put a copy of the data into place: %w", err)
	}
	if err := os.Rename(c.aside(), c.data()); err != nil {
		return fmt.Errorf("put a copy of the data into place: %w", err)
	}
	if err := disk.Sync(c.Directory); err != nil {
		return err
	}
	return os.RemoveAll(c.old())
}

// repairCopy completes a replacement that a crash interrupted, or takes it back. A copy aside is whole if copy.json is
// in it.
func (c Config) repairCopy() error {
	if !exists(c.data()) {
		from := c.old()
		if exists(filepath.Join(c.aside(), datadir.CopyFile)) {
			from = c.aside()
		}
		if err := os.Rename(from, c.data()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("complete the replacement of a copy of the data: %w", err)
		}
	}
	return errors.Join(os.RemoveAll(c.aside()), os.RemoveAll(c.old()), disk.Sync(c.Directory))
}
