// Package machine deals with what the cluster puts on the machine outside its
// directories: packages, mounts, loop devices, stray files.
package machine

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Mounts lists what is mounted at dir or below, in the order it was mounted.
func Mounts(dir string) ([]string, error) {
	file, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("list the mounts: %w", err)
	}
	defer file.Close()
	return parseMounts(file, dir)
}

// parseMounts reads the mountinfo format; see proc(5).
func parseMounts(mountinfo io.Reader, dir string) ([]string, error) {
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\134`, `\`)
	var found []string
	lines := bufio.NewScanner(mountinfo)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 5 {
			continue
		}
		// The kernel marks a mount point whose directory was deleted.
		at := strings.TrimSuffix(unescape.Replace(fields[4]), "//deleted")
		if at == dir || strings.HasPrefix(at, dir+"/") {
			found = append(found, at)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the list of mounts: %w", err)
	}
	return found, nil
}

// MountMemory mounts memory at dir, of a size as in tmpfs(5).
func MountMemory(dir, size string) error {
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=0755,size="+size); err != nil {
		return fmt.Errorf("mount %s of memory at %s: %w", size, dir, err)
	}
	return nil
}

// Unmount unmounts everything at dir and below, last mounted first. What is
// busy is detached: its users are dead or about to be.
func Unmount(dir string) error {
	return unmount(dir, func(string) bool { return true })
}

// UnmountBelow is Unmount, but for dir itself.
func UnmountBelow(dir string) error {
	return unmount(dir, func(at string) bool { return at != dir })
}

// unmount unmounts what is chosen of the mounts at dir and below.
func unmount(dir string, chosen func(string) bool) error {
	mounts, err := Mounts(dir)
	if err != nil {
		return err
	}
	var failed error
	for _, at := range slices.Backward(mounts) {
		if !chosen(at) {
			continue
		}
		err := unix.Unmount(at, unix.UMOUNT_NOFOLLOW)
		if errors.Is(err, unix.EBUSY) {
			err = unix.Unmount(at, unix.UMOUNT_NOFOLLOW|unix.MNT_DETACH)
		}
		if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
			failed = errors.Join(failed, fmt.Errorf("unmount %s: %w", at, err))
		}
	}
	return failed
}
