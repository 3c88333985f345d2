// Package netns makes the network namespaces that stand for machines.
package netns

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// Create makes a namespace and holds it open by a bind mount on path.
func Create(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make the directory for network namespaces: %w", err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return fmt.Errorf("make the file for a network namespace: %w", err)
	}
	return onOwnThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("make a network namespace (needs root): %w", err)
		}
		if err := unix.Mount("/proc/thread-self/ns/net", path, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("hold the network namespace open at %s: %w", path, err)
		}
		return nil
	})
}

// Do runs work inside the namespace at path, with everything it executes.
func Do(path string, work func() error) error {
	return onOwnThread(func() error {
		if err := Enter(path); err != nil {
			return err
		}
		return work()
	})
}

// Enter moves the calling thread, which must be locked, into the namespace.
func Enter(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open the network namespace: %w", err)
	}
	defer file.Close()
	if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter the network namespace %s: %w", path, err)
	}
	return nil
}

// Delete lets go of the namespace; it ends with its last process.
func Delete(path string) error {
	if err := unix.Unmount(path, unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("unmount the network namespace %s: %w", path, err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the file of the network namespace: %w", err)
	}
	return nil
}

// onOwnThread runs work on a thread that the runtime throws away afterwards:
// it stays locked, because it may be in a namespace where no other code is to
// run.
func onOwnThread(work func() error) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread()
		result <- work()
	}()
	return <-result
}
