package rdb

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc64"
	"io"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// The end of a file: this byte, and the checksum of all before.
const (
	endOfFile = 0xff
	tailBytes = 9
)

// Check reads a stream, and says at its end whether it was a whole file. It keeps the beginning and the end alone.
// The checksum of two whole files in one is sound as well; who streams says how many bytes there are.
type Check struct {
	sum    uint64
	bytes  int64
	begin  []byte
	tail   []byte
	tables *crc64.Table
}

// beginBytes holds the version and what the server says of itself.
const beginBytes = 4 << 10

// reversed is the polynomial of the servers' checksum, 0xad93d23594c935a9, as the standard library has it.
const reversed = 0x95ac9329ac4bc9b5

// NewCheck returns a check that has read nothing.
func NewCheck() *Check { return &Check{tables: crc64.MakeTable(reversed)} }

// Write takes everything.
func (c *Check) Write(p []byte) (int, error) {
	if room := beginBytes - len(c.begin); room > 0 {
		c.begin = append(c.begin, p[:min(room, len(p))]...)
	}
	c.bytes += int64(len(p))
	if len(p) >= tailBytes {
		c.add(c.tail)
		c.add(p[:len(p)-tailBytes])
		c.tail = append(c.tail[:0], p[len(p)-tailBytes:]...)
		return len(p), nil
	}
	c.tail = append(c.tail, p...)
	if more := len(c.tail) - tailBytes; more > 0 {
		c.add(c.tail[:more])
		c.tail = append(c.tail[:0], c.tail[more:]...)
	}
	return len(p), nil
}

// add counts bytes. The servers begin with 0, and the standard library with its complement.
func (c *Check) add(p []byte) { c.sum = ^crc64.Update(^c.sum, c.tables, p) }

// Close says what is wrong with the file.
func (c *Check) Close() error {
	_, err := c.Facts()
	return err
}

// Facts returns what the file says of itself, or what is wrong with it.
func (c *Check) Facts() (Facts, error) {
	f, err := parseBegin(c.begin)
	if err != nil {
		return f, err
	}
	if len(c.tail) < tailBytes || c.tail[0] != endOfFile {
		return f, fmt.Errorf("it was cut: after %d bytes there is no end: %w", c.bytes, engine.ErrNotSnapshot)
	}
	said := binary.LittleEndian.Uint64(c.tail[1:])
	sum := ^crc64.Update(^c.sum, c.tables, c.tail[:1])
	if said == 0 {
		return f, fmt.Errorf("it has no checksum, so nobody knows whether it is whole: %w", engine.ErrNotSnapshot)
	}
	if said != sum {
		return f, fmt.Errorf("its checksum is %016x, and its content has %016x: %w", said, sum, engine.ErrNotSnapshot)
	}
	f.Sum, f.Bytes = sum, c.bytes
	return f, nil
}

// parseBegin reads the version, and the fields that come before the first database.
func parseBegin(raw []byte) (Facts, error) {
	version := ""
	for _, magic := range []string{"REDIS", "VALKEY"} {
		if len(raw) >= headerBytes && bytes.HasPrefix(raw, []byte(magic)) {
			version = string(raw[len(magic):headerBytes])
		}
	}
	f, err := Facts{}, error(nil)
	if f.Version, err = number(version); err != nil {
		return f, fmt.Errorf("it does not begin as a file of Valkey or Redis does: %w: %w", engine.ErrNotSnapshot, err)
	}
	f.readFields(raw[headerBytes:])
	return f, nil
}

// Begin reads what a file says of itself at its beginning, and not whether it is whole.
func Begin(from io.Reader) (Facts, error) {
	raw, err := io.ReadAll(io.LimitReader(from, beginBytes))
	if err != nil {
		return Facts{}, fmt.Errorf("read the beginning of a backup: %w", err)
	}
	return parseBegin(raw)
}

// Read reads a file to its end, and returns what it says of itself, or what is wrong with it.
func Read(from io.Reader) (Facts, error) {
	c := NewCheck()
	if _, err := io.Copy(c, from); err != nil {
		return Facts{}, fmt.Errorf("read a backup: %w", err)
	}
	return c.Facts()
}
