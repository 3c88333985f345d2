package datadir

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// Control is what the driver reads in global/pg_control. These fields have the same places in PostgreSQL 13 to 18.
type Control struct {
	System string
	// Shutdown says that a primary was stopped in order: its log ends with the checkpoint.
	Shutdown bool
	// Checkpoint is where the last checkpoint's record begins, Timeline its timeline.
	Checkpoint LSN
	Timeline   uint64
}

const (
	stateShutDown = 1
	pageSize      = 8192
	pageHeader    = 24
	segmentHeader = 40
)

// ReadControl reads the control file of a data directory.
func ReadControl(pgdata string) (Control, error) {
	raw, err := os.ReadFile(filepath.Join(pgdata, "global", "pg_control")) //nolint:gosec // the path is ours
	if err != nil {
		return Control{}, fmt.Errorf("read the control file: %w", err)
	}
	return parseControl(raw)
}

func parseControl(raw []byte) (Control, error) {
	if len(raw) < 296 {
		return Control{}, fmt.Errorf("read the control file: it has %d bytes", len(raw))
	}
	le := binary.LittleEndian
	if v := le.Uint32(raw[8:]); v < 1300 || v > 1800 {
		return Control{}, fmt.Errorf("read the control file: its version is %d, but this tool knows 1300 to 1800", v)
	}
	return Control{
		System:   strconv.FormatUint(le.Uint64(raw), 10),
		Shutdown: le.Uint32(raw[16:]) == stateShutDown, Checkpoint: LSN(le.Uint64(raw[32:])),
		Timeline: uint64(le.Uint32(raw[48:])),
	}, nil
}

// End returns where the record of the last checkpoint ends. After a stop in order nothing follows it.
func (c Control) End(pgdata string) (LSN, error) {
	size, err := segmentSize(pgdata, c)
	if err != nil {
		return 0, err
	}
	f, err := os.Open(segment(pgdata, c.Timeline, c.Checkpoint, size))
	if err != nil {
		return 0, fmt.Errorf("read the last record of the log: %w", err)
	}
	defer f.Close() //nolint:errcheck // it was read
	var length [4]byte
	at := int64(uint64(c.Checkpoint) % size) //nolint:gosec // it is below 1 GB
	if _, err := f.ReadAt(length[:], at); err != nil {
		return 0, fmt.Errorf("read the last record of the log: %w", err)
	}
	return recordEnd(c.Checkpoint, uint64(binary.LittleEndian.Uint32(length[:])), size), nil
}

// recordEnd returns the end of a record of a length, aligned as the next one would begin; headers of pages don't count
// as part of the record.
func recordEnd(begin LSN, length, segmentSize uint64) LSN {
	at, left := uint64(begin), (length+7)/8*8
	for {
		room := pageSize - at%pageSize
		if left <= room {
			return LSN(at + left)
		}
		left -= room
		at += room
		if at%segmentSize == 0 {
			at += segmentHeader
		} else {
			at += pageHeader
		}
	}
}

func segment(pgdata string, timeline uint64, at LSN, size uint64) string {
	number := uint64(at) / size
	perID := uint64(1<<32) / size
	return filepath.Join(pgdata, "pg_wal", fmt.Sprintf("%08X%08X%08X", timeline, number/perID, number%perID))
}

// segmentSize is in the first page of each segment; 16 MB is the default, others are tried by their file names.
func segmentSize(pgdata string, c Control) (uint64, error) {
	for size := uint64(1 << 20); size <= 1<<30; size <<= 1 {
		info, err := os.Stat(segment(pgdata, c.Timeline, c.Checkpoint, size))
		if err == nil && info.Size() == int64(size) {
			return size, nil
		}
	}
	return 0, fmt.Errorf("find the segment of the log that holds %s on timeline %d in %s", c.Checkpoint, c.Timeline,
		pgdata)
}
