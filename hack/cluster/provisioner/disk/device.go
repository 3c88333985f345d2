package disk

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// resize sets the size of a sparse file: space is taken when it is written.
func resize(path string, size int64) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the file of a disk: %w", err)
	}
	defer file.Close()
	if err := file.Truncate(size); err != nil {
		return fmt.Errorf("set the size of %s to %d: %w", path, size, err)
	}
	return nil
}

// attach puts a file on a free loop device, which the kernel makes if need be.
func attach(ctx context.Context, file string) (string, error) {
	var err error
	for range 10 {
		var output []byte
		output, err = exec.CommandContext(ctx, "losetup", "--find", "--show", file).Output()
		if err == nil {
			return strings.TrimSpace(string(output)), nil
		}
		// Somebody else took the device between finding and taking it.
	}
	return "", fmt.Errorf("attach %s to a loop device: %w", file, err)
}

// deviceOf is the loop device that holds file, or empty.
func deviceOf(ctx context.Context, file string) (string, error) {
	output, err := exec.CommandContext(ctx, "losetup", "--noheadings", "--output", "NAME", "--associated", file).Output()
	if err != nil {
		return "", fmt.Errorf("find the loop device of %s: %w", file, err)
	}
	device, _, _ := strings.Cut(strings.TrimSpace(string(output)), "\n")
	return device, nil
}

// mounted reports whether something is mounted at path: it is then on another
// device than its parent.
func mounted(path string) bool {
	var at, above syscall.Stat_t
	if syscall.Stat(path, &at) != nil || syscall.Stat(filepath.Dir(path), &above) != nil {
		return false
	}
	return at.Dev != above.Dev
}

// run executes a program for its effect.
func run(ctx context.Context, name string, args ...string) error {
	if output, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(output)))
	}
	return nil
}
