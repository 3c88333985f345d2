package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Make creates group in every hierarchy. Kubelet demands that of the group it
// is told to take for its root.
func Make(group string) error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	for _, h := range all {
		if err := h.make(group); err != nil {
			return fmt.Errorf("make the control group %s in %s: %w", group, h.path, err)
		}
	}
	return nil
}

// make creates group and its parents one by one, for each level needs the
// one above it to hand down something.
func (h hierarchy) make(group string) error {
	parent := h.path
	for name := range strings.SplitSeq(strings.Trim(group, "/"), "/") {
		child := filepath.Join(parent, name)
		if h.unified {
			if err := delegate(parent); err != nil {
				return err
			}
		}
		if err := os.Mkdir(child, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
		if err := inheritCPUSet(parent, child); err != nil {
			return err
		}
		parent = child
	}
	return nil
}

// delegate lets the children of a version 2 group use its controllers.
func delegate(group string) error {
	controllers, err := os.ReadFile(filepath.Join(group, "cgroup.controllers"))
	if err != nil {
		return err
	}
	var enabled error
	for controller := range strings.FieldsSeq(string(controllers)) {
		// In a hybrid setup this tree has next to no controllers and needs
		// none: a refusal only matters where kubelet depends on it.
		err := os.WriteFile(filepath.Join(group, "cgroup.subtree_control"), []byte("+"+controller), 0o644)
		if err != nil && (controller == "cpu" || controller == "memory" || controller == "pids") {
			enabled = errors.Join(enabled, err)
		}
	}
	return enabled
}

// inheritCPUSet copies the processors and memory nodes of the parent: on
// version 1 a new cpuset has none and accepts no process.
func inheritCPUSet(parent, child string) error {
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		value, err := os.ReadFile(filepath.Join(parent, file))
		if errors.Is(err, os.ErrNotExist) || len(strings.TrimSpace(string(value))) == 0 {
			continue
		}
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(child, file), value, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Join moves the calling process into group, so that whatever it starts is
// counted there too.
func Join(group string) error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	h, err := tracker(all)
	if err != nil {
		return err
	}
	file := filepath.Join(h.path, group, "cgroup.procs")
	if err := os.WriteFile(file, fmt.Append(nil, os.Getpid()), 0o644); err != nil {
		return fmt.Errorf("join the control group %s: %w", group, err)
	}
	return nil
}

// Contains reports whether the process is one of the cluster's and runs; a
// process number alone may since belong to somebody else.
func Contains(pid int) bool {
	groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil || !strings.Contains(string(groups), ":"+Root+"/") {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(after, "Z")
}
