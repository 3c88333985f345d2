package boltfile

import (
	"encoding/binary"
	"fmt"
)

const (
	headerBytes  = 16
	elementBytes = 16

	branchPage   = 0x01
	leafPage     = 0x02
	freelistPage = 0x10

	// bucketEntry marks an element whose value is a bucket.
	bucketEntry = 0x01
)

// page is what was read of one, with the pages that continue it.
type page struct {
	id   uint64
	kind uint16
	// count is how many elements there are.
	count    int
	overflow uint64
	raw      []byte
}

// read reads a page into the buffer, which grows as needed.
func (f *File) read(id uint64, into *[]byte) (page, error) {
	if id < 2 || id >= f.meta.pages {
		return page{}, fmt.Errorf("%w: there is no page %d among %d", ErrDamaged, id, f.meta.pages)
	}
	size := int(f.meta.pageSize)
	if err := f.fill(into, id, 0, size); err != nil {
		return page{}, err
	}
	p, err := parseHeader((*into)[:size])
	if err == nil && p.id != id {
		err = fmt.Errorf("%w: page %d says that it is page %d", ErrDamaged, id, p.id)
	}
	if err == nil && p.overflow >= f.meta.pages-id {
		err = fmt.Errorf("%w: page %d continues beyond the end", ErrDamaged, id)
	}
	if err != nil || p.overflow == 0 {
		return p, err
	}
	all := size * int(p.overflow+1) // #nosec G115 -- not beyond the end of the file
	if err := f.fill(into, id, size, all); err != nil {
		return page{}, err
	}
	p.raw = (*into)[:all]
	return p, nil
}

// fill reads the bytes from..to of a page.
func (f *File) fill(into *[]byte, id uint64, from, to int) error {
	if cap(*into) < to {
		*into = append(make([]byte, 0, to), (*into)[:from]...)
	}
	*into = (*into)[:to]
	at := int64(id)*f.meta.pageSize + int64(from) // #nosec G115 -- within the file
	if _, err := f.file.ReadAt((*into)[from:to], at); err != nil {
		return fmt.Errorf("read page %d: %w", id, err)
	}
	return nil
}

// parseHeader also takes the page of a bucket that is kept inside its value.
func parseHeader(raw []byte) (page, error) {
	if len(raw) < headerBytes {
		return page{}, fmt.Errorf("%w: a page has %d bytes", ErrDamaged, len(raw))
	}
	order := binary.NativeEndian
	return page{
		id: order.Uint64(raw), kind: order.Uint16(raw[8:]), count: int(order.Uint16(raw[10:])),
		overflow: uint64(order.Uint32(raw[12:])), raw: raw,
	}, nil
}

// element is a pair on a leaf, or on a branch a page and its first key.
type element struct {
	key, value []byte
	bucket     bool
	child      uint64
}

func (p page) element(i int) (element, error) {
	at := headerBytes + i*elementBytes
	if at+elementBytes > len(p.raw) {
		return element{}, p.beyond(i)
	}
	order, b := binary.NativeEndian, p.raw[at:]
	var e element
	var position, keyBytes, valueBytes uint64
	if p.kind == branchPage {
		position, keyBytes, e.child = uint64(order.Uint32(b)), uint64(order.Uint32(b[4:])), order.Uint64(b[8:])
	} else {
		e.bucket = order.Uint32(b)&bucketEntry != 0
		position, keyBytes, valueBytes = uint64(order.Uint32(b[4:])), uint64(order.Uint32(b[8:])),
			uint64(order.Uint32(b[12:]))
	}
	// Three numbers of 32 bits: no overflow.
	if position+keyBytes+valueBytes > uint64(len(b)) {
		return element{}, p.beyond(i)
	}
	if keyBytes == 0 {
		return element{}, fmt.Errorf("%w: element %d of page %d has no key", ErrDamaged, i, p.id)
	}
	e.key, e.value = b[position:position+keyBytes], b[position+keyBytes:position+keyBytes+valueBytes]
	return e, nil
}

func (p page) beyond(i int) error {
	return fmt.Errorf("%w: element %d of page %d is beyond its end", ErrDamaged, i, p.id)
}
