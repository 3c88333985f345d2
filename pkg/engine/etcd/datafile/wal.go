package datafile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// The records of etcd's write-ahead log (server/storage/wal/walpb).
const (
	walMetadata = 1
	walEntry    = 2
	walState    = 3
	walCRC      = 4
	walSnapshot = 5
)

// sector is what a disk writes as a whole or not at all.
const sector = 512

// errTorn: the log ends in a record that was being written when its process
// died. etcd cuts it off when it starts; nobody was told that it is there.
var errTorn = errors.New("the log ends in the middle of a record")

// LogEnd is what a member's log says last.
type LogEnd struct {
	Member, Cluster uint64
	// Term and index of the last entry, which is what raft compares in an
	// election; commit is how much of it the member knew to be decided.
	Term, Index, Commit uint64
}

// ReadLog reads the log in a wal directory as etcd does when it starts, and
// keeps only its end.
func ReadLog(dir string) (LogEnd, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.wal"))
	if err != nil || len(files) == 0 {
		return LogEnd{}, fmt.Errorf("there is no log in %s", dir)
	}
	slices.Sort(files) // the names hold sequence number and first index
	r := &logReader{}
	for i, file := range files {
		err := r.file(file)
		if errors.Is(err, errTorn) && i == len(files)-1 {
			err = nil
		}
		if err != nil {
			return LogEnd{}, fmt.Errorf("read %s: %w", filepath.Base(file), err)
		}
	}
	if r.end.Cluster == 0 {
		return LogEnd{}, errors.New("the log does not say whose it is")
	}
	return r.end, nil
}

// logReader reads one file after another; the checksum goes on over all.
type logReader struct {
	end LogEnd
	sum uint32
}

func (r *logReader) file(path string) (err error) {
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	for offset := int64(0); ; {
		record, next, err := ReadRecord(f, offset, info.Size())
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = r.take(record, offset)
		}
		if err != nil {
			return err
		}
		offset = next
	}
}

// ReadRecord reads the frame at offset: a length with its padding in the top
// byte, then the record. Files are made longer than they are, so a length of 0
// is the end.
func ReadRecord(f io.ReaderAt, offset, size int64) (record []byte, next int64, err error) {
	var head [8]byte
	switch n, err := f.ReadAt(head[:], offset); {
	case errors.Is(err, io.EOF) && n == 0:
		return nil, 0, io.EOF
	case errors.Is(err, io.EOF):
		return nil, 0, errTorn
	case err != nil:
		return nil, 0, err
	}
	frame := binary.LittleEndian.Uint64(head[:])
	if frame == 0 {
		return nil, 0, io.EOF
	}
	length, padding := frame&(1<<56-1), uint64(0)
	if frame>>63 == 1 {
		padding = frame >> 56 & 7
	}
	begin := offset + int64(len(head))
	if length > math.MaxInt64/2 || int64(length+padding) > size-begin {
		return nil, 0, errTorn
	}
	record = make([]byte, length)
	if _, err := f.ReadAt(record, begin); err != nil {
		return nil, 0, err
	}
	return record, begin + int64(length+padding), nil
}

// take checks one record and keeps what it says.
func (r *logReader) take(record []byte, offset int64) error {
	fields, err := parseFields(record)
	if err != nil {
		return r.damaged(record, offset, err)
	}
	kind, sum, data := fields.numbers[1], fields.numbers[2], fields.bytes[3]
	if kind == walCRC {
		// The first of a log that was cut off at its beginning begins the sum.
		if r.sum != 0 && uint64(r.sum) != sum {
			return errors.New("the checksum does not go on where the file before ended")
		}
		r.sum = uint32(sum) //nolint:gosec // written as such
		return nil
	}
	next := crc32.Update(r.sum, crc32.MakeTable(crc32.Castagnoli), data)
	if uint64(next) != sum {
		return r.damaged(record, offset, errors.New("a record's checksum is wrong"))
	}
	r.sum = next
	return r.keep(kind, data)
}

// damaged tells a record that was torn by a crash, some of its sectors were
// never written, from one that went bad.
func (r *logReader) damaged(record []byte, offset int64, err error) error {
	at := offset + 8
	for rest := record; len(rest) > 0; {
		n := min(sector-at%sector, int64(len(rest)))
		if !slices.ContainsFunc(rest[:n], func(b byte) bool { return b != 0 }) {
			return errTorn
		}
		rest, at = rest[n:], at+n
	}
	return err
}

func (r *logReader) keep(kind uint64, data []byte) error {
	fields, err := parseFields(data)
	if err != nil {
		return err
	}
	n := fields.numbers
	switch kind {
	case walMetadata:
		if r.end.Cluster != 0 && r.end.Cluster != n[2] {
			return errors.New("the log is of two clusters")
		}
		r.end.Member, r.end.Cluster = n[1], n[2]
	case walEntry:
		// A follower that is corrected writes an index again: the last word counts.
		r.end.Term, r.end.Index = n[2], n[3]
	case walState:
		r.end.Commit = n[3]
	case walSnapshot:
		// One that was received from the leader may be ahead of all entries.
		if n[1] > r.end.Index {
			r.end.Term, r.end.Index = n[2], n[1]
		}
		r.end.Commit = max(r.end.Commit, n[1])
	}
	return nil
}

// fields are those of a protobuf message, by number, the last of each.
type fields struct {
	numbers map[protowire.Number]uint64
	bytes   map[protowire.Number][]byte
}

func parseFields(message []byte) (fields, error) {
	out := fields{numbers: map[protowire.Number]uint64{}, bytes: map[protowire.Number][]byte{}}
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return out, protowire.ParseError(n)
		}
		message = message[n:]
		switch kind {
		case protowire.VarintType:
			out.numbers[number], n = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			out.bytes[number], n = protowire.ConsumeBytes(message)
		default:
			n = protowire.ConsumeFieldValue(number, kind, message)
		}
		if n < 0 {
			return out, protowire.ParseError(n)
		}
		message = message[n:]
	}
	return out, nil
}
