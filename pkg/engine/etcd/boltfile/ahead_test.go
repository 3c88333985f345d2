package boltfile

import (
	"testing"

	"github.com/google/go-cmp/cmp"
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
