//go:build linux

package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
)

// memoryLimit is the file that says how much memory this container may have, in bytes, or "max".
const memoryLimit = "/sys/fs/cgroup/memory.max"

// checkStart refuses settings with which a server would not come up, although each is valid: for a library that the
// image lacks, or for memory that the container may not have.
func (s *Server) checkStart(ctx context.Context, dir string, settings []string) error {
	megabytes, err := s.sharedMemory(ctx, dir, settings)
	if err != nil || megabytes == 0 {
		return err
	}
	limit, err := os.ReadFile(memoryLimit)
	if err != nil {
		return nil //nolint:nilerr // without the file nobody knows of a limit
	}
	return fits(megabytes, strings.TrimSpace(string(limit)))
}

// fits compares what all processes of a server share with what their container may have.
func fits(megabytes int64, limit string) error {
	most, err := strconv.ParseInt(limit, 10, 64)
	if err != nil || megabytes<<20 < most {
		return nil //nolint:nilerr // "max" is no limit
	}
	return api.Refused{Why: fmt.Sprintf("with these settings a server needs %d MiB of memory to start, and its container "+
		"may have %d MiB", megabytes, most>>20)}
}

// sharedMemory has the program compute how much memory the processes of a server would share, in megabytes, as it does
// at each start: it loads the libraries, and reads the file of control. The directory is a copy without data. 0 where
// it is not known: 14 computes nothing, and neither does a member without data.
func (s *Server) sharedMemory(ctx context.Context, dir string, settings []string) (int64, error) {
	control, err := os.ReadFile(filepath.Join(s.pgdata(), "global", "pg_control"))
	if s.Major < 15 || os.IsNotExist(err) {
		return 0, nil
	}
	if err == nil {
		err = errors.Join(os.Mkdir(filepath.Join(dir, "global"), 0o700),
			os.WriteFile(filepath.Join(dir, "global", "pg_control"), control, 0o600), //nolint:gosec // the directory is ours
			os.WriteFile(filepath.Join(dir, "PG_VERSION"), []byte(strconv.Itoa(s.Major)+"\n"), 0o600))
	}
	if err != nil {
		return 0, fmt.Errorf("check settings: %w", err)
	}
	args := append([]string{"-D", dir, "-C", "shared_memory_size"}, settings...)
	out, err := exec.CommandContext(ctx, s.Program("postgres"), args...).Output() //nolint:gosec // the program is ours
	if ended, ran := errors.AsType[*exec.ExitError](err); ran {
		return 0, api.Refused{Why: "PostgreSQL would not start with the settings: " + reason(string(ended.Stderr))}
	}
	if err != nil {
		return 0, fmt.Errorf("check settings: %w", err)
	}
	megabytes, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("check settings: read how much memory they take: %w", err)
	}
	return megabytes, nil
}
