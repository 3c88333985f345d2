package basebackup

import (
	"fmt"
	"strconv"
	"strings"
)

// logDirectory holds the log.
const logDirectory = "pg_wal/"

// isLog says whether a file holds a part of the log. The manifest lists none of these.
func isLog(e entry) bool {
	name, found := strings.CutPrefix(e.name, logDirectory)
	return found && e.kind == kindFile && len(name) == 24 && strings.Trim(name, "0123456789ABCDEF") == ""
}

// ParseLSN reads a place in the log, such as 0/3000060.
func ParseLSN(text string) (uint64, error) {
	high, low, _ := strings.Cut(text, "/")
	h, err := strconv.ParseUint(high, 16, 32)
	l, err2 := strconv.ParseUint(low, 16, 32)
	if err != nil || err2 != nil {
		return 0, bad("%.40q is no place in the log", text)
	}
	return h<<32 | l, nil
}

// FormatLSN writes a place in the log as PostgreSQL does.
func FormatLSN(at uint64) string { return fmt.Sprintf("%X/%X", at>>32, at&0xffffffff) }

// segments are the files of the log that an archive holds.
type segments struct {
	size    uint64
	numbers map[uint64]bool
}

// add takes a file of the log.
func (s *segments) add(e entry) error {
	name := strings.TrimPrefix(e.name, logDirectory)
	high, err := strconv.ParseUint(name[8:16], 16, 64)
	low, err2 := strconv.ParseUint(name[16:], 16, 64)
	if err != nil || err2 != nil {
		return bad("%q is no file of the log", e.name)
	}
	size := uint64(max(0, e.size))
	if s.size == 0 {
		s.size, s.numbers = size, map[uint64]bool{}
	}
	if size != s.size || s.size < 1<<20 || s.size > 1<<30 || s.size&(s.size-1) != 0 {
		return bad("the file %q of the log has %d bytes", e.name, e.size)
	}
	s.numbers[high*(1<<32/s.size)+low] = true
	return nil
}

// hold fails unless the files of a part of the log are there, of whichever timeline: where one begins, its first file
// holds the end of the one before.
func (s *segments) hold(begin, end uint64) error {
	if s.size == 0 {
		return bad("the archive holds no log")
	}
	if end <= begin {
		return bad("the log from %s ends at %s", FormatLSN(begin), FormatLSN(end))
	}
	first, last := begin/s.size, (end-1)/s.size
	for n := first; n <= last; n++ {
		if !s.numbers[n] {
			return bad("the archive lacks the log from %s on", FormatLSN(n*s.size))
		}
	}
	return nil
}

// name is the file that holds a place of a timeline.
func (s *segments) name(timeline, at uint64) string {
	each, number := 1<<32/s.size, at/s.size
	return fmt.Sprintf("%08X%08X%08X", timeline, number/each, number%each)
}
