package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Processes lists who is in group or below it, in any hierarchy.
func Processes(group string) ([]int, error) {
	all, err := hierarchies()
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, h := range all {
		err := walk(filepath.Join(h.path, group), func(dir string) {
			// A group may vanish while we observe: then nobody is in it.
			content, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
			for field := range strings.FieldsSeq(string(content)) {
				if pid, err := strconv.Atoi(field); err == nil && pid > 0 {
					pids = append(pids, pid)
				}
			}
		})
		if err != nil {
			return nil, fmt.Errorf("list the processes of control group %s: %w", group, err)
		}
	}
	slices.Sort(pids)
	return slices.Compact(pids), nil
}

// Kill ends everything in group or below it, by SIGKILL and again until
// nobody is left, because a dying parent may just have forked.
func Kill(ctx context.Context, group string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for {
		pids, err := Processes(group)
		if err != nil {
			return err
		}
		if len(pids) == 0 {
			return nil
		}
		for _, pid := range pids {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("kill process %d of control group %s: %w", pid, group, err)
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("processes %v of control group %s survive SIGKILL (see /proc/PID/stack): %w", pids, group, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Remove deletes group with all below it from every hierarchy. It must be
// empty of processes.
func Remove(group string) error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	for _, h := range all {
		var dirs []string
		if err := walk(filepath.Join(h.path, group), func(dir string) { dirs = append(dirs, dir) }); err != nil {
			return fmt.Errorf("list the control groups below %s: %w", group, err)
		}
		for _, dir := range slices.Backward(dirs) {
			if err := removeEmptied(dir); err != nil {
				return fmt.Errorf("remove the control group %s: %w", dir, err)
			}
		}
	}
	return nil
}

// removeEmptied removes one group; the kernel reports a group whose last
// process just died as busy for some milliseconds more.
func removeEmptied(dir string) error {
	var err error
	for range 100 {
		if err = os.Remove(dir); err == nil || errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if !errors.Is(err, syscall.EBUSY) {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}

// Remaining lists the directories of group that still exist.
func Remaining(group string) ([]string, error) {
	all, err := hierarchies()
	if err != nil {
		return nil, err
	}
	var found []string
	for _, h := range all {
		if _, err := os.Stat(filepath.Join(h.path, group)); err == nil {
			found = append(found, filepath.Join(h.path, group))
		}
	}
	return found, nil
}

// walk visits dir and all below it, parents first; what does not exist (any
// more) is skipped.
func walk(dir string, visit func(dir string)) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ENODEV):
			return nil
		case err != nil:
			return err
		case entry.IsDir():
			visit(path)
		}
		return nil
	})
}
