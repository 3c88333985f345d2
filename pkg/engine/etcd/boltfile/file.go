// Package boltfile reads a finished bbolt database, all of it and once, with
// plain reads. bbolt itself maps the file, so that every page it touches
// counts as memory of the process, and brings the process down over a damaged
// one; here memory is bounded by the largest page, and damage is an error.
package boltfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
)

// ErrDamaged: it is no bbolt database, or not a consistent one.
var ErrDamaged = errors.New("the database is damaged")

// The format is internal/common of go.etcd.io/bbolt: numbers in the order of
// bytes of the machine, a header before each page.
const (
	magic     = 0xED0CDAED
	version   = 2
	metaBytes = 64
	// metaSummed is the part of a meta page that its checksum covers.
	metaSummed = 56
	// smallestPage and largestPage are what bbolt tries.
	smallestPage = 1 << 10
	largestPage  = 16 << 20
	// noFreelist means a list of free pages that is not kept in the file.
	noFreelist = ^uint64(0)
)

// meta is one of the two descriptions of the file.
type meta struct {
	pageSize int64
	// root is the page of the buckets' names, pages how many there are.
	root, freelist, pages, txid uint64
}

// File is an open database.
type File struct {
	file *os.File
	meta meta
}

// Open opens a database for reading. It takes no lock: nobody may write meanwhile.
func Open(path string) (*File, error) {
	file, err := os.Open(filepath.Clean(path))
	if err != nil {
		return nil, err
	}
	f := &File{file: file}
	if err := f.describe(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return f, nil
}

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }

// describe finds the younger one of the descriptions that are whole.
func (f *File) describe() error {
	info, err := f.file.Stat()
	if err != nil {
		return err
	}
	found, err := f.metaAt(0)
	if err != nil {
		return err
	}
	// The second is behind the first page, whose size the first one tells. Where
	// that is damaged all sizes are tried.
	for at := int64(smallestPage); at <= largestPage; at *= 2 {
		if found != nil && found.pageSize != at {
			continue
		}
		second, err := f.metaAt(at)
		if err != nil {
			return err
		}
		if second != nil && second.pageSize == at && (found == nil || second.txid > found.txid) {
			found = second
		}
	}
	if found == nil {
		return fmt.Errorf("%w: it does not begin with a description of itself", ErrDamaged)
	}
	f.meta = *found
	if most := uint64(info.Size() / found.pageSize); found.pages > most { // #nosec G115 -- sizes are not negative
		return fmt.Errorf("%w: it has %d pages and its file %d", ErrDamaged, found.pages, most)
	}
	return nil
}

// metaAt is nil if there is no description.
func (f *File) metaAt(at int64) (*meta, error) {
	var raw [headerBytes + metaBytes]byte
	if _, err := f.file.ReadAt(raw[:], at); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	order, b := binary.NativeEndian, raw[headerBytes:]
	sum := fnv.New64a()
	_, _ = sum.Write(b[:metaSummed])
	m := &meta{
		pageSize: int64(order.Uint32(b[8:])), root: order.Uint64(b[16:]), freelist: order.Uint64(b[32:]),
		pages: order.Uint64(b[40:]), txid: order.Uint64(b[48:]),
	}
	whole := order.Uint32(b) == magic && order.Uint32(b[4:]) == version && order.Uint64(b[metaSummed:]) == sum.Sum64()
	if !whole || m.pageSize < smallestPage || m.pageSize > largestPage || m.pageSize&(m.pageSize-1) != 0 {
		return nil, nil
	}
	return m, nil
}
