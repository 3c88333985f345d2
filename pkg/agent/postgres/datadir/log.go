package datadir

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"slices"
)

// Of the header of a page: what its first bytes are, and the flags that matter here.
const (
	pageMagic        = 0xD000 // 0xD1xx so far: the second byte counts the formats
	magicMask        = 0xF000
	continues        = 0x01 // it begins with the rest of a record
	long             = 0x02 // it is the first of a segment
	overwrites       = 0x08 // the record before it was given up: what comes next takes its place
	recordHeader     = 24
	checksumAt       = 20
	mostRecord       = 1020 << 20
	switchResource   = 0
	switchInfo       = 0x40
	resourceMask     = 0xF0
	infoAt, kindAt   = 16, 17
	previousRecordAt = 8
)

// LogEnd returns where the last whole record ends of the log that a data directory holds. It reads on from the last
// checkpoint, on the timelines that the copy followed, and changes nothing. No server runs in the directory.
func LogEnd(pgdata string, c Control, past Lineage) (LSN, error) {
	size, err := segmentSize(pgdata, c)
	if err != nil {
		return 0, err
	}
	r := &logReader{pgdata: pgdata, past: past, size: size}
	defer r.close()
	at, previous, end := c.Checkpoint, LSN(0), LSN(0)
	for {
		next, after, err := r.record(at, previous)
		switch {
		case errors.Is(err, errGivenUp):
			at = after
			continue
		case err != nil && end == 0:
			return 0, fmt.Errorf("read the record of the last checkpoint at %s: %w", at, err)
		case err != nil:
			return end, nil // the log ends where no whole record follows
		}
		at, previous, end = next, after, next
	}
}

var (
	errNoRecord = errors.New("there is no whole record")
	errGivenUp  = errors.New("the record was given up")
)

// logReader reads the pages of a log.
type logReader struct {
	pgdata string
	past   Lineage
	size   uint64

	path string
	file *os.File
	page [pageSize]byte
}

func (r *logReader) close() {
	if r.file != nil {
		_ = r.file.Close() // it was only read
	}
	r.path, r.file = "", nil
}

// record checks the record at a place, whose predecessor begins at another one if that is known. It returns where the
// next one begins, and where this one does behind the header of a page. With errGivenUp the second is where a record
// takes the place of this one.
func (r *logReader) record(at, previous LSN) (next, begin LSN, err error) {
	var body []byte
	place, want := uint64(at), 0
	for want == 0 || len(body) < want {
		start := place - place%pageSize
		flags, rest, skip, err := r.load(LSN(start), at)
		switch {
		case err != nil:
			return 0, 0, err
		case len(body) > 0 && flags&overwrites != 0:
			return 0, LSN(start + skip), errGivenUp
		case len(body) > 0 && (flags&continues == 0 || want > 0 && int64(rest) != int64(want-len(body))):
			return 0, 0, errNoRecord
		case len(body) == 0 && place == start && flags&continues != 0:
			return 0, 0, errNoRecord
		}
		place = max(place, start+skip)
		if len(body) == 0 {
			begin = LSN(place)
		}
		part := r.page[place-start:]
		if want == 0 {
			want = int(binary.LittleEndian.Uint32(part))
			if want < recordHeader || want > mostRecord {
				return 0, 0, errNoRecord
			}
		}
		part = part[:min(len(part), want-len(body))]
		body = append(body, part...)
		place += uint64(len(part))
	}
	if !sound(body, previous) {
		return 0, 0, errNoRecord
	}
	place = (place + 7) / 8 * 8
	if body[kindAt] == switchResource && body[infoAt]&resourceMask == switchInfo {
		place = (place + r.size - 1) / r.size * r.size // nothing follows in this segment
	}
	return LSN(place), begin, nil
}

// sound compares the checksum of a record, and which one it names as its predecessor.
func sound(body []byte, previous LSN) bool {
	named := LSN(binary.LittleEndian.Uint64(body[previousRecordAt:]))
	table := crc32.MakeTable(crc32.Castagnoli)
	sum := crc32.Update(crc32.Checksum(body[recordHeader:], table), table, body[:checksumAt])
	return (previous == 0 || named == previous) && sum == binary.LittleEndian.Uint32(body[checksumAt:])
}

// load reads the page at a place, for a record that begins at another: of the timelines that the copy followed up to
// there the newest that has that page. A file that was used again still holds the pages of another place.
func (r *logReader) load(page, record LSN) (flags uint16, rest uint32, header uint64, err error) {
	timelines := []uint64{r.past.Timeline}
	for _, f := range slices.Backward(r.past.Forks) {
		if record < f.End {
			timelines = append(timelines, f.Timeline)
		}
	}
	for _, t := range timelines {
		if !r.read(t, page) {
			continue
		}
		le := binary.LittleEndian
		flags = le.Uint16(r.page[2:])
		header = pageHeader
		if first := uint64(page)%r.size == 0; first != (flags&long != 0) {
			continue
		} else if first {
			header = segmentHeader
		}
		if le.Uint16(r.page[:])&magicMask == pageMagic && LSN(le.Uint64(r.page[8:])) == page {
			return flags, le.Uint32(r.page[16:]), header, nil
		}
	}
	return 0, 0, 0, errNoRecord
}

// read reads a page of a timeline.
func (r *logReader) read(timeline uint64, page LSN) bool {
	path := segment(r.pgdata, timeline, page, r.size)
	if path != r.path {
		r.close()
		f, err := os.Open(path) //nolint:gosec // the path is ours
		if err != nil {
			return false
		}
		r.path, r.file = path, f
	}
	_, err := r.file.ReadAt(r.page[:], int64(uint64(page)%r.size)) //nolint:gosec // it is below 1 GB
	return err == nil
}
