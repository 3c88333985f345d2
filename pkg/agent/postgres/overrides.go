//go:build linux

package postgres

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/disk"
)

// overrides are the settings that ALTER SYSTEM wrote. They count on this server alone, and before those of its other
// files.
const overrides = "SELECT DISTINCT name FROM pg_file_settings WHERE sourcefile LIKE '%/" + autoFile + "' ORDER BY 1"

// autoFile is where ALTER SYSTEM writes, in the data directory.
const autoFile = "postgresql.auto.conf"

// TakeBack implements api.Overrider. It empties the file, because ALTER SYSTEM may be forbidden.
func (s *Server) TakeBack(ctx context.Context) error {
	if err := disk.ReplaceBytes(filepath.Join(s.pgdata(), autoFile), nil); err != nil {
		return fmt.Errorf("take back what ALTER SYSTEM wrote: %w", err)
	}
	s.mu.Lock()
	settings := s.settings
	s.mu.Unlock()
	// Who asked may be gone: the server must not keep values that no file has.
	return s.reload(context.WithoutCancel(ctx), settings)
}
