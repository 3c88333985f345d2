package boltfile

import (
	"errors"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"
)

func TestAhead(t *testing.T) {
	const page = 4096
	for name, c := range map[string]struct {
		children []uint64
		want     []extent
	}{
		"none": {},
		// The last one's length is not known.
		"next to each other, in any order": {[]uint64{12, 10, 11}, []extent{{10 * page, 2*page + farthest}}},
		"apart by what one may hold":       {[]uint64{10, 20}, []extent{{10 * page, 10*page + farthest}}},
		"far apart": {[]uint64{10, 1000}, []extent{{10 * page, farthest},
			{1000 * page, farthest}}},
		// A damaged file.
		"twice the same": {[]uint64{10, 10}, []extent{{10 * page, farthest}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, ahead(c.children, page), cmp.AllowUnexported(extent{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestExpect: when the walk comes to its first pair, the disk is told of all that the branch after that one leads to.
func TestExpect(t *testing.T) {
	path := database(t, bolt.Options{PageSize: 1024}, fill(rand.New(rand.NewPCG(1, 2)), "key", 3000, 300))
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	told := map[int64]bool{}
	hint := func(_ *os.File, part extent) {
		for at := part.offset; at < part.offset+part.length; at += f.meta.pageSize {
			told[at/f.meta.pageSize] = true
		}
	}
	enough := errors.New("enough")
	if err := f.walk(func(string) func(_, _ []byte) error {
		return func(_, _ []byte) error { return enough }
	}, hint); !errors.Is(err, enough) {
		t.Fatal(err)
	}
	// Down to the lowest branches, by the last element of each page.
	w := &walk{file: f}
	names, err := f.read(f.meta.root, w.buffer(0))
	if err != nil {
		t.Fatal(err)
	}
	e, err := names.element(names.count - 1)
	if err != nil {
		t.Fatal(err)
	}
	next := rootOf(e)
	for depth := 1; ; depth++ {
		p, err := f.read(next, w.buffer(depth))
		if err != nil || p.kind != branchPage || p.count < 2 {
			t.Fatalf("page %d is of kind %#x with %d elements, %v", next, p.kind, p.count, err)
		}
		last, before := child(t, p, p.count-1), child(t, p, p.count-2)
		var below []byte
		b, err := f.read(before, &below)
		if err != nil {
			t.Fatal(err)
		}
		if b.kind == branchPage {
			for i := range b.count {
				if id := child(t, b, i); !told[int64(id)] {
					t.Fatalf("nobody expects page %d", id)
				}
			}
			return
		}
		next = last
	}
}

func child(t *testing.T, p page, i int) uint64 {
	t.Helper()
	e, err := p.element(i)
	if err != nil {
		t.Fatal(err)
	}
	return e.child
}
