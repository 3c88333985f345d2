package boltfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
)

const testPage = 4096

// image is a database in memory, to be damaged.
type image []byte

func (b image) page(id uint64) []byte  { return b[id*testPage : (id+1)*testPage] }
func (b image) number(at int) uint64   { return binary.NativeEndian.Uint64(b[at:]) }
func (b image) set(at int, v uint64)   { binary.NativeEndian.PutUint64(b[at:], v) }
func (b image) short(at int, v uint16) { binary.NativeEndian.PutUint16(b[at:], v) }
func (b image) word(at int, v uint32)  { binary.NativeEndian.PutUint32(b[at:], v) }
func (b image) younger() int {
	if b.number(headerBytes+48) > b.number(testPage+headerBytes+48) {
		return 0
	}
	return 1
}

// meta is where the number at an offset of the younger description lies.
func (b image) meta(offset int) int { return b.younger()*testPage + headerBytes + offset }

// sign makes the checksum of the younger description right.
func (b image) sign() {
	sum := fnv.New64a()
	sum.Write(b[b.meta(0):b.meta(metaSummed)])
	b.set(b.meta(metaSummed), sum.Sum64())
}

// element0 is where an element of a page begins.
func element0(id uint64, i int) int { return int(id)*testPage + headerBytes + i*elementBytes }

// pages are those of the bucket "key": its root, a branch, and the branch's first leaf.
func (b image) pages(t testing.TB) (root, branch, leaf uint64) {
	t.Helper()
	root = b.number(b.meta(16))
	f := page{id: root, kind: leafPage, raw: b.page(root)}
	e, err := f.element(0)
	if err != nil {
		t.Fatal(err)
	}
	branch = binary.NativeEndian.Uint64(e.value)
	return root, branch, b.number(element0(branch, 0) + 8)
}

func sound(t testing.TB, o bolt.Options) image {
	t.Helper()
	put := func(from, to int) func(*bolt.Tx) error {
		return func(tx *bolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte("key"))
			for i := from; i < to && err == nil; i++ {
				err = b.Put(fmt.Appendf(nil, "%08d", i), make([]byte, 100))
			}
			return err
		}
	}
	o.PageSize = testPage
	raw, err := os.ReadFile(database(t, o, put(0, 500), put(200, 600)))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func walkImage(t testing.TB, b image) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := walked(path)
	return err
}

func TestWalkDamage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		harm func(t *testing.T, b image) image
		says string
	}{
		"nothing":                 {func(_ *testing.T, b image) image { return b }, ""},
		"empty":                   {func(*testing.T, image) image { return nil }, "description"},
		"cut in the description":  {func(_ *testing.T, b image) image { return b[:40] }, "description"},
		"both descriptions":       {func(_ *testing.T, b image) image { clear(b[:2*testPage]); return b }, "description"},
		"the younger description": {func(_ *testing.T, b image) image { b[b.meta(20)]++; return b }, ""},
		"the first description":   {func(_ *testing.T, b image) image { clear(b[:testPage]); return b }, ""},
		"cut": {func(_ *testing.T, b image) image { return b[:b.number(b.meta(40))*testPage-1] },
			"its file"},
		"root beyond the end": {func(_ *testing.T, b image) image {
			b.set(b.meta(16), b.number(b.meta(40)))
			b.sign()
			return b
		}, "there is no page"},
		"root is a description": {func(_ *testing.T, b image) image { b.set(b.meta(16), 1); b.sign(); return b },
			"there is no page 1"},
		"a page is another": {func(t *testing.T, b image) image {
			_, _, leaf := b.pages(t)
			b.set(int(leaf)*testPage, leaf+1)
			return b
		}, "says that it is"},
		"kind": {func(t *testing.T, b image) image {
			_, _, leaf := b.pages(t)
			b.short(int(leaf)*testPage+8, 7)
			return b
		}, "is of kind 0x7"},
		"branch without children": {func(t *testing.T, b image) image {
			_, branch, _ := b.pages(t)
			b.short(int(branch)*testPage+10, 0)
			return b
		}, "with 0 elements"},
		"more elements than fit": {func(t *testing.T, b image) image {
			_, _, leaf := b.pages(t)
			b.short(int(leaf)*testPage+10, 300)
			return b
		}, "beyond its end"},
		"value beyond the page": {func(t *testing.T, b image) image {
			_, _, leaf := b.pages(t)
			b.word(element0(leaf, 0)+12, 1<<31)
			return b
		}, "beyond its end"},
		"no key": {func(t *testing.T, b image) image {
			_, _, leaf := b.pages(t)
			b.word(element0(leaf, 0)+8, 0)
			return b
		}, "has no key"},
		"continues beyond the end": {func(t *testing.T, b image) image {
			_, _, leaf := b.pages(t)
			b.word(int(leaf)*testPage+12, 1<<31)
			return b
		}, "continues beyond"},
		"continues over others": {func(t *testing.T, b image) image {
			_, _, leaf := b.pages(t)
			b.word(int(leaf)*testPage+12, 1)
			return b
		}, "in use twice"},
		"a child twice": {func(t *testing.T, b image) image {
			_, branch, leaf := b.pages(t)
			b.set(element0(branch, 1)+8, leaf)
			return b
		}, "out of order"},
		"its own child": {func(t *testing.T, b image) image {
			_, branch, _ := b.pages(t)
			b.set(element0(branch, 0)+8, branch)
			return b
		}, "in use twice"},
		"keys in disorder": {func(t *testing.T, b image) image {
			_, _, leaf := b.pages(t)
			at := element0(leaf, 3)
			b[at+int(binary.NativeEndian.Uint32(b[at+4:]))] = 'z'
			return b
		}, "out of order"},
		"a key above the next page's": {func(t *testing.T, b image) image {
			_, branch, leaf := b.pages(t)
			at := element0(branch, 1)
			b[at+int(binary.NativeEndian.Uint32(b[at:]))+6]--
			_ = leaf
			return b
		}, "out of order"},
		"a bucket inside": {func(t *testing.T, b image) image {
			_, _, leaf := b.pages(t)
			b.word(element0(leaf, 0), bucketEntry)
			return b
		}, "inside bucket"},
		"no bucket among the names": {func(t *testing.T, b image) image {
			root, _, _ := b.pages(t)
			b.word(element0(root, 0), 0)
			return b
		}, "is none"},
		"the list of free pages is another page": {func(t *testing.T, b image) image {
			_, _, leaf := b.pages(t)
			b.set(b.meta(32), leaf)
			b.sign()
			return b
		}, "no list of free pages"},
		"a free page in use": {func(t *testing.T, b image) image {
			_, _, leaf := b.pages(t)
			b.set(int(b.number(b.meta(32)))*testPage+headerBytes, leaf)
			return b
		}, "in use twice"},
		"a free page beyond the end": {func(_ *testing.T, b image) image {
			b.set(int(b.number(b.meta(32)))*testPage+headerBytes, 1<<40)
			return b
		}, "does not exist"},
		"a free page is lost": {func(_ *testing.T, b image) image {
			at := int(b.number(b.meta(32)))*testPage + 10
			b.short(at, binary.NativeEndian.Uint16(b[at:])-1)
			return b
		}, "neither free nor in use"},
		"more free pages than fit": {func(_ *testing.T, b image) image {
			b.short(int(b.number(b.meta(32)))*testPage+10, many-1)
			return b
		}, "longer than its page"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := walkImage(t, c.harm(t, sound(t, bolt.Options{})))
			if c.says == "" && err != nil || c.says != "" && (!errors.Is(err, ErrDamaged) ||
				!strings.Contains(err.Error(), c.says)) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}

// FuzzDamage: whatever is written anywhere, it is damage or nothing, never a crash.
func FuzzDamage(f *testing.F) {
	good := sound(f, bolt.Options{})
	f.Add(uint(testPage+20), uint64(1), len(good))
	f.Add(uint(3*testPage+12), ^uint64(0), len(good))
	f.Add(uint(0), uint64(0), 5000)
	f.Fuzz(func(t *testing.T, at uint, harm uint64, size int) {
		b := append(image(nil), good...)
		b.set(int(at%uint(len(b)-8)), harm)
		b.sign()
		if size >= 0 && size < len(b) {
			b = b[:size]
		}
		if err := walkImage(t, b); err != nil && !errors.Is(err, ErrDamaged) {
			t.Errorf("%v", err)
		}
	})
}
