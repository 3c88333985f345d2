package boltfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
)

// deepest is how far down a tree may go, that of the buckets' names and that
// below one of them together: real ones have a handful of levels.
const deepest = 64

// bucketBytes is the header of a bucket: its root page and a counter.
const bucketBytes = 16

// walk is one way through the file.
type walk struct {
	file  *File
	enter Visitor
	// buffers hold the page of each level of the tree, from the root down.
	buffers [deepest][]byte
	used    []byte
	// ahead holds a branch whose children are read ahead, by hint.
	ahead []byte
	hint  func(*os.File, extent)
	count uint64
}

// Visitor is told of each bucket and returns what is to be called with its
// pairs; nil if nothing is.
type Visitor func(bucket string) func(key, value []byte) error

// Walk reads every bucket and pair, the last first, and checks on the way what
// bbolt's own check does: that each page is what it claims to be and in use
// once, all keys are in order, and no page is lost. Key and value are the
// caller's until it returns. What it was told counts for nothing if Walk fails.
func (f *File) Walk(enter Visitor) error { return f.walk(enter, readAhead) }

func (f *File) walk(enter Visitor, hint func(*os.File, extent)) error {
	w := &walk{file: f, enter: enter, hint: hint, used: make([]byte, f.meta.pages/8+1)}
	// The two descriptions.
	if err := w.claim(page{overflow: 1}); err != nil {
		return err
	}
	if err := w.free(); err != nil {
		return err
	}
	w.expect(f.meta.root)
	if err := w.tree(f.meta.root, 0, nil, nil, w.bucket); err != nil {
		return err
	}
	return w.complete()
}

// bucket walks through one bucket; one that is small lives in its own entry.
func (w *walk) bucket(e element, depth int) error {
	if !e.bucket || len(e.value) < bucketBytes {
		return fmt.Errorf("%w: %q among the buckets is none", ErrDamaged, e.key)
	}
	visit := w.enter(string(e.key))
	pair := func(in element, _ int) error {
		switch {
		case in.bucket:
			return fmt.Errorf("%w: there is a bucket inside bucket %q", ErrDamaged, e.key)
		case visit == nil:
			return nil
		}
		return visit(in.key, in.value)
	}
	if root := rootOf(e); root != 0 {
		w.expect(root)
		return w.tree(root, depth+1, nil, nil, pair)
	}
	p, err := parseHeader(e.value[bucketBytes:])
	if err != nil {
		return err
	}
	if p.kind != leafPage {
		return fmt.Errorf("%w: bucket %q has a page of kind %#x inside", ErrDamaged, e.key, p.kind)
	}
	return w.backwards(p, nil, nil, func(_ int, in element, _ []byte) error { return pair(in, depth) })
}

// rootOf is the root page of a bucket; 0 for one that lives in its entry.
func rootOf(e element) uint64 { return binary.NativeEndian.Uint64(e.value) }

// tree walks through all below a page. Keys are at least low and below high,
// where those are given.
func (w *walk) tree(id uint64, depth int, low, high []byte, each func(element, int) error) error {
	if depth >= deepest {
		return fmt.Errorf("%w: page %d is too deep down", ErrDamaged, id)
	}
	p, err := w.file.read(id, w.buffer(depth))
	if err != nil {
		return err
	}
	if err := w.claim(p); err != nil {
		return err
	}
	switch {
	case p.kind == leafPage:
		return w.backwards(p, low, high, func(_ int, e element, _ []byte) error { return each(e, depth) })
	case p.kind == branchPage && p.count > 0:
		branches := w.expectElement(p, p.count-1)
		return w.backwards(p, low, high, func(i int, e element, next []byte) error {
			branches = branches && w.expectElement(p, i-1)
			return w.tree(e.child, depth+1, e.key, next, each)
		})
	default:
		return fmt.Errorf("%w: page %d is of kind %#x with %d elements", ErrDamaged, id, p.kind, p.count)
	}
}

// backwards goes through the elements of a page. next is the key that follows.
func (w *walk) backwards(p page, low, high []byte, each func(i int, e element, next []byte) error) error {
	next := high
	for i := p.count - 1; i >= 0; i-- {
		e, err := p.element(i)
		if err != nil {
			return err
		}
		if next != nil && bytes.Compare(e.key, next) >= 0 || bytes.Compare(e.key, low) < 0 {
			return fmt.Errorf("%w: element %d of page %d is out of order", ErrDamaged, i, p.id)
		}
		if err := each(i, e, next); err != nil {
			return err
		}
		next = e.key
	}
	return nil
}

func (w *walk) buffer(depth int) *[]byte { return &w.buffers[depth] }
