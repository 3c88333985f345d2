package boltfile

import (
	"encoding/binary"
	"fmt"
)

// many means a count that does not fit into a header.
const many = 0xFFFF

// claim notes that a page, with those that continue it, is in use. Nothing is
// used twice.
func (w *walk) claim(p page) error {
	for id := p.id; id <= p.id+p.overflow; id++ {
		if w.used[id/8]&(1<<(id%8)) != 0 {
			return fmt.Errorf("%w: page %d is in use twice", ErrDamaged, id)
		}
		w.used[id/8] |= 1 << (id % 8)
		w.count++
	}
	return nil
}

// free claims the pages that the file says are free. Where it keeps no list of
// them, as etcd's don't, whatever nobody uses is free.
func (w *walk) free() error {
	if w.file.meta.freelist == noFreelist {
		return nil
	}
	p, err := w.file.read(w.file.meta.freelist, w.buffer(0))
	if err != nil {
		return err
	}
	if p.kind != freelistPage {
		return fmt.Errorf("%w: page %d is no list of free pages", ErrDamaged, p.id)
	}
	if err := w.claim(p); err != nil {
		return err
	}
	ids, count := p.raw[headerBytes:], uint64(p.count) // #nosec G115 -- 16 bits
	if p.count == many && len(ids) >= 8 {
		ids, count = ids[8:], binary.NativeEndian.Uint64(ids)
	}
	if count > uint64(len(ids)/8) {
		return fmt.Errorf("%w: the list of free pages is longer than its page", ErrDamaged)
	}
	for i := range count {
		id := binary.NativeEndian.Uint64(ids[8*i:])
		if id < 2 || id >= w.file.meta.pages {
			return fmt.Errorf("%w: page %d, which does not exist, is free", ErrDamaged, id)
		}
		if err := w.claim(page{id: id}); err != nil {
			return err
		}
	}
	return nil
}

// complete asks that every page is accounted for.
func (w *walk) complete() error {
	if w.file.meta.freelist != noFreelist && w.count != w.file.meta.pages {
		return fmt.Errorf("%w: of %d pages %d are neither free nor in use", ErrDamaged, w.file.meta.pages,
			w.file.meta.pages-w.count)
	}
	return nil
}
