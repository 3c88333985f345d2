//go:build linux

package postgres

import (
	"fmt"

	"golang.org/x/sys/unix"
)

const (
	// logShare is which part of the volume the log that is kept for replicas may take, and again the log between two
	// checkpoints. With the defaults of PostgreSQL the log alone would fill a small volume, and the database stop.
	logShare = 8
	// mostLog is what each takes at most, leastLog at least, in MB.
	mostLog, leastLog = 1024, 64
)

// logSizes are the defaults of wal_keep_size and max_wal_size, in MB, on a volume of that many bytes.
func logSizes(volume uint64) (keep, most uint64) {
	part := max(leastLog, min(mostLog, volume/logShare>>20))
	return part, part
}

// slotSize is the default of max_slot_wal_keep_size, in MB, on a volume of that many bytes: how much of the log waits
// for who reads a slot. One that lacks more is lost, and the database goes on.
func slotSize(volume uint64) uint64 { return max(leastLog, volume/4>>20) }

// logDefaults is the beginning of the file of settings. What people set comes later, and counts.
func (s *Server) logDefaults() (string, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(s.Directory, &fs); err != nil {
		return "", fmt.Errorf("read the size of the volume: %w", err)
	}
	volume := fs.Blocks * uint64(fs.Bsize) //nolint:gosec // the size of a block is positive
	keep, most := logSizes(volume)
	return fmt.Sprintf("wal_keep_size = '%dMB'\nmax_wal_size = '%dMB'\nmax_slot_wal_keep_size = '%dMB'\n", keep, most,
		slotSize(volume)), nil
}
