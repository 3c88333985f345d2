package datadir

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// SegmentSize is that of each file of the log: initdb makes no other.
const SegmentSize LSN = 16 << 20

// segments is how many files of the log share the second part of their names.
const segments = (1 << 32) / SegmentSize

// SegmentOf reads the name of a file of the log.
func SegmentOf(name string) (timeline uint64, number LSN, ok bool) {
	if len(name) != 24 {
		return 0, 0, false
	}
	t, err := strconv.ParseUint(name[:8], 16, 32)
	high, err2 := strconv.ParseUint(name[8:16], 16, 32)
	low, err3 := strconv.ParseUint(name[16:], 16, 32)
	if errors.Join(err, err2, err3) != nil || low >= uint64(segments) {
		return 0, 0, false
	}
	return t, LSN(high)*segments + LSN(low), true
}

// SegmentName is the name of a file of the log.
func SegmentName(timeline uint64, number LSN) string {
	return fmt.Sprintf("%08X%08X%08X", timeline, uint64(number/segments), uint64(number%segments))
}

// HistoryOf reads the name of a history file.
func HistoryOf(name string) (timeline uint64, ok bool) {
	digits, ok := strings.CutSuffix(name, ".history")
	timeline, err := strconv.ParseUint(digits, 16, 32)
	return timeline, ok && err == nil && len(digits) == 8
}
