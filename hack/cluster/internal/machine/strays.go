package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Strays lists files that containerd and kubelet leave in places that none of
// their settings moves: results of CNI, sockets of shims, links to pod logs.
func Strays(state string) ([]string, error) {
	var found []string
	for _, pattern := range []string{"/var/lib/cni/results/dbop-*", "/var/lib/cni/dbop-*"} {
		matches, err := filepath.Glob(pattern)
		if err != nil {
			return nil, fmt.Errorf("look for results of CNI: %w", err)
		}
		found = append(found, matches...)
	}
	sockets, err := deadSockets("/run/containerd/s")
	if err != nil {
		return nil, err
	}
	links, err := linksInto(state, "/var/log/containers")
	if err != nil {
		return nil, err
	}
	return append(append(found, sockets...), links...), nil
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
		failed = errors.Join(failed, os.RemoveAll(path))
	}
	for _, dir := range []string{
		"/var/lib/cni/results", "/var/lib/cni/cache", "/var/lib/cni", "/var/log/containers",
		"/run/containerd/s", "/run/containerd/runc/k8s.io", "/run/containerd/runc", "/run/containerd",
	} {
		_ = os.Remove(dir) // refused unless empty, and that is the idea
	}
	return failed
}

// deadSockets lists the sockets in dir that nobody answers: shims of another
// containerd on this machine are none of our business.
func deadSockets(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for sockets of dead shims: %w", err)
	}
	var dead []string
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		connection, err := net.DialTimeout("unix", path, time.Second)
		if err != nil {
			dead = append(dead, path)
			continue
		}
		connection.Close()
	}
	return dead, nil
}

// linksInto lists the symbolic links in dir that point into state.
func linksInto(state, dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for links to logs of pods: %w", err)
	}
	var found []string
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if target, err := os.Readlink(path); err == nil && strings.HasPrefix(target, state+"/") {
			found = append(found, path)
		}
	}
	return found, nil
}
