package machine

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The places where containerd and kubelet leave files and that none of their
// settings moves. Others may have theirs there, too.
const (
	cniResults    = "/var/lib/cni/results"
	shimSockets   = "/run/containerd/s"
	devicePlugins = "/var/lib/kubelet/device-plugins"
	podLogLinks   = "/var/log/containers"
)

// emptied lists the directories that may be empty without the strays, inner
// ones first.
var emptied = []string{
	cniResults, "/var/lib/cni", shimSockets, "/run/containerd/runc/k8s.io", "/run/containerd/runc", "/run/containerd",
	devicePlugins, "/var/lib/kubelet", podLogLinks,
}

// Strays lists the files of the cluster in those places.
func Strays(state string) ([]string, error) {
	var found []string
	for dir, ours := range map[string]func(path string) bool{
		// What the network plugins did for a pod, whose namespace is named.
		cniResults: func(path string) bool {
			content, err := os.ReadFile(path)
			return err == nil && bytes.Contains(content, []byte(state+"/"))
		},
		// A socket that nobody answers is of a process that was killed.
		shimSockets:   dead,
		devicePlugins: dead,
		podLogLinks: func(path string) bool {
			target, err := os.Readlink(path)
			return err == nil && strings.HasPrefix(target, state+"/")
		},
	} {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("search files of the cluster: %w", err)
		}
		for _, entry := range entries {
			if path := filepath.Join(dir, entry.Name()); ours(path) {
				found = append(found, path)
			}
		}
	}
	slices.Sort(found)
	return found, nil
}

// RemoveStrays removes what Strays lists and the directories that are empty
// then.
func RemoveStrays(state string) error {
	strays, err := Strays(state)
	if err != nil {
		return err
	}
	var failed error
	for _, path := range strays {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = errors.Join(failed, fmt.Errorf("remove a file of the cluster: %w", err))
		}
	}
	for _, dir := range emptied {
		_ = os.Remove(dir) // refused unless empty, and that is the idea
	}
	return failed
}

// dead reports whether path is a socket that nobody listens on.
func dead(path string) bool {
	info, err := os.Stat(path)
	if err != nil || info.Mode()&fs.ModeSocket == 0 {
		return false
	}
	connection, err := net.DialTimeout("unix", path, time.Second)
	if err != nil {
		return true
	}
	connection.Close()
	return false
}
