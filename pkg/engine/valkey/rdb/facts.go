// Package rdb reads the files in which Valkey and Redis keep all of their data. It checks them, and does not take apart
// what the keys hold: that is up to the server.
package rdb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Facts are what a file says of itself.
type Facts struct {
	// Version is that of the format.
	Version int
	// Product is "valkey" or "redis", Server the release of it that wrote the file, Made when; zero where it does not say.
	Product, Server string
	Made            time.Time
	// Stream is the place of the file in the stream of its server; nil if it does not say.
	Stream *Stream
	// Sum is the checksum of its content, Bytes its size.
	Sum   uint64
	Bytes int64
}

// Stream is a place in the replication stream of a server.
type Stream struct {
	// ID is the replication ID. Offset counts the bytes before, and Database is the one that was selected last.
	ID       string
	Offset   uint64
	Database uint64
}

// headerBytes are those of "REDIS0011" and "VALKEY080".
const headerBytes = 9

var errMissing = errors.New("the field is missing")

// field begins a name and a value, each a string.
const field = 0xfa

func number(digits string) (int, error) {
	n, err := strconv.Atoi(strings.TrimLeft(digits, "0"))
	if err != nil {
		return 0, fmt.Errorf("read the version %q", digits)
	}
	return n, nil
}

// readFields reads the fields at the beginning. What it does not know it leaves out: they are for people.
func (f *Facts) readFields(raw []byte) {
	var at Stream
	offset, database := errMissing, errMissing
	defer func() {
		if at.ID != "" && offset == nil && database == nil {
			f.Stream = &at
		}
	}()
	for len(raw) > 0 && raw[0] == field {
		name, rest, ok := readString(raw[1:])
		value, rest, there := readString(rest)
		if !ok || !there {
			return
		}
		raw = rest
		switch name {
		case "redis-ver", "valkey-ver":
			f.Product, f.Server = strings.TrimSuffix(name, "-ver"), value
		case "repl-id":
			at.ID = value
		case "repl-offset":
			at.Offset, offset = strconv.ParseUint(value, 10, 63)
		case "repl-stream-db":
			at.Database, database = strconv.ParseUint(value, 10, 31)
		case "ctime":
			if seconds, err := strconv.ParseInt(value, 10, 64); err == nil {
				f.Made = time.Unix(seconds, 0).UTC()
			}
		}
	}
}

// readString reads a string with its length, or a number in its place.
func readString(raw []byte) (text string, rest []byte, ok bool) {
	if len(raw) == 0 {
		return "", nil, false
	}
	const mode, low = 6, 0x3f
	head := int(raw[0] & low)
	switch raw[0] >> mode {
	case 0: // the length is in this byte
		return cut(raw[1:], head)
	case 1: // and in the next one
		if len(raw) > 1 {
			return cut(raw[2:], head<<8|int(raw[1]))
		}
	case 3: // a number of 1, 2 or 4 bytes
		bytes, known := map[int]int{0: 1, 1: 2, 2: 4}[head]
		if known && len(raw) > bytes {
			wide := make([]byte, 8)
			copy(wide, raw[1:1+bytes])
			shift := 64 - 8*bytes
			n := int64(binary.LittleEndian.Uint64(wide)<<shift) >> shift //nolint:gosec // it has a sign
			return strconv.FormatInt(n, 10), raw[1+bytes:], true
		}
	}
	return "", nil, false
}

func cut(raw []byte, length int) (string, []byte, bool) {
	if len(raw) < length {
		return "", nil, false
	}
	return string(raw[:length]), raw[length:], true
}
