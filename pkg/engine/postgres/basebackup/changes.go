package basebackup

import (
	"encoding/binary"
	"fmt"
	"io"
	"path"
	"strings"
)

const (
	// changesPrefix begins the name of a file that holds the blocks of another one that changed.
	changesPrefix = "INCREMENTAL."
	// changesMagic begins such a file. A number of blocks follows, the least length of the result, and the numbers.
	changesMagic  = 0xd3ae1f0d
	changesHeader = 12
	// pageSize is that of a block, in all builds but one's own.
	pageSize = 8192
	// mostBlocks bounds the length of a file: the server begins another one at a gigabyte, unless it was built otherwise.
	mostBlocks = 1 << 22
)

// changedName is the name of the file whose changed blocks a file holds, if it does.
func changedName(name string) (string, bool) {
	directory, base := path.Split(name)
	after, found := strings.CutPrefix(base, changesPrefix)
	return directory + after, found
}

// changes are the blocks of one file that changed.
type changes struct {
	// blocks are their numbers, in order. Their content follows each other from the place data on.
	blocks []uint32
	data   int64
	// keep is up to which block the rest is that of the file before; length is how many blocks there are in the end.
	keep, length uint32
}

// readChanges reads what a file holds that begins at a place and has a size.
func readChanges(file io.ReaderAt, at, size int64) (c changes, err error) {
	var header [changesHeader]byte
	if _, err := file.ReadAt(header[:], at); err != nil || size < changesHeader {
		return c, bad("it has %d bytes, and no header (%v)", size, err)
	}
	count := binary.LittleEndian.Uint32(header[4:])
	c.keep = binary.LittleEndian.Uint32(header[8:])
	begin := int64(changesHeader) + 4*int64(count)
	if count > 0 {
		begin = (begin + pageSize - 1) / pageSize * pageSize // pages of the file are those of the disk
	}
	switch {
	case binary.LittleEndian.Uint32(header[:]) != changesMagic:
		return c, bad("it begins with %x", header[:4])
	case count > mostBlocks || c.keep > mostBlocks:
		return c, bad("it holds %d blocks for a file of at least %d", count, c.keep)
	case size != begin+int64(count)*pageSize:
		return c, bad("it has %d bytes, and %d blocks of %d bytes", size, count, pageSize)
	}
	raw := make([]byte, 4*int(count))
	if n, err := file.ReadAt(raw, at+changesHeader); n < len(raw) {
		return c, fmt.Errorf("read the numbers of its blocks: %w", err)
	}
	c.data, c.length, c.blocks = at+begin, c.keep, make([]uint32, count)
	for i := range c.blocks {
		b := binary.LittleEndian.Uint32(raw[4*i:])
		if b >= mostBlocks || i > 0 && b <= c.blocks[i-1] {
			return c, bad("its blocks are not in order: %d", b)
		}
		c.blocks[i], c.length = b, max(c.length, b+1)
	}
	return c, nil
}
