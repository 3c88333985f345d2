package disk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Store is a directory of disks.
type Store struct{ Dir string }

// image is the file that holds the disk.
func (s Store) image(name string) string { return filepath.Join(s.Dir, name+".img") }

// Mount is where the disk is mounted: the path that pods get.
func (s Store) Mount(name string) string { return filepath.Join(s.Dir, name) }

// Create makes a disk and mounts it. One that is there already is left as it
// is; one that is half there, because we died over it, is made again.
func (s Store) Create(ctx context.Context, name string, requested int64) error {
	if mounted(s.Mount(name)) {
		return nil
	}
	if err := s.Delete(ctx, name); err != nil {
		return err
	}
	if err := os.MkdirAll(s.Mount(name), 0o755); err != nil {
		return fmt.Errorf("make the mount point of %s: %w", name, err)
	}
	if err := resize(s.image(name), FileSize(requested)); err != nil {
		return err
	}
	// -K: there is nothing to discard in a file that was just made.
	if err := run(ctx, "mkfs.xfs", "-q", "-K", s.image(name)); err != nil {
		return err
	}
	device, err := attach(ctx, s.image(name))
	if err != nil {
		return err
	}
	if err := unix.Mount(device, s.Mount(name), "xfs", unix.MS_NOATIME, ""); err != nil {
		return fmt.Errorf("mount %s at %s (see dmesg): %w", device, s.Mount(name), err)
	}
	return nil
}

// Grow makes the disk at least as big as requested, under the feet of who
// uses it. A disk never shrinks.
func (s Store) Grow(ctx context.Context, name string, requested int64) error {
	info, err := os.Stat(s.image(name))
	if err != nil {
		return fmt.Errorf("inspect the disk %s: %w", name, err)
	}
	if size := FileSize(requested); size > info.Size() {
		if err := resize(s.image(name), size); err != nil {
			return err
		}
	}
	// Also if the file was big enough: we may have died before the rest.
	device, err := deviceOf(ctx, s.image(name))
	if err != nil {
		return err
	}
	if device == "" {
		return fmt.Errorf("the disk %s is not attached to any loop device", name)
	}
	if err := run(ctx, "losetup", "-c", device); err != nil {
		return err
	}
	return run(ctx, "xfs_growfs", "-d", s.Mount(name))
}

// Delete removes a disk, whatever there is of it.
func (s Store) Delete(ctx context.Context, name string) error {
	for mounted(s.Mount(name)) {
		if err := unix.Unmount(s.Mount(name), unix.UMOUNT_NOFOLLOW); err != nil {
			return fmt.Errorf("unmount %s (does a pod still use it?): %w", s.Mount(name), err)
		}
	}
	if _, err := os.Stat(s.image(name)); err == nil {
		device, err := deviceOf(ctx, s.image(name))
		if err != nil {
			return err
		}
		if device != "" {
			if err := run(ctx, "losetup", "-d", device); err != nil {
				return err
			}
		}
	}
	for _, path := range []string{s.Mount(name), s.image(name)} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove what is left of the disk %s: %w", name, err)
		}
	}
	return nil
}
