// Package versions knows the versions of etcd: how they are written and ordered, which
// steps between them are safe, and from which version on something works.
package versions

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Version of etcd. A pre-release counts as its release.
type Version struct{ major, Minor, patch int }

// Line is a minor series, such as 3.6.
type Line struct{ major, Minor int }

// Parse reads "3.6.16", "v3.6.16" or "3.6" (patch 0).
func Parse(s string) (Version, error) {
	rest, _, _ := strings.Cut(strings.TrimPrefix(s, "v"), "-")
	rest, _, _ = strings.Cut(rest, "+")
	parts := strings.Split(rest, ".")
	if len(parts) < 2 || len(parts) > 3 {
		return Version{}, fmt.Errorf("parse etcd version %q: want major.minor.patch", s)
	}
	var numbers [3]int
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 16)
		if err != nil {
			return Version{}, fmt.Errorf("parse etcd version %q: %w", s, err)
		}
		numbers[i] = int(n)
	}
	return Version{numbers[0], numbers[1], numbers[2]}, nil
}

func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.major, v.Minor, v.patch) }

// Line is the minor series of a version.
func (v Version) Line() Line { return Line{v.major, v.Minor} }

// Compare orders two versions as they were released: -1, 0, 1.
func (v Version) Compare(o Version) int {
	return cmp.Or(cmp.Compare(v.major, o.major), cmp.Compare(v.Minor, o.Minor), cmp.Compare(v.patch, o.patch))
}

// Less reports whether v was released before o.
func (v Version) Less(o Version) bool { return v.Compare(o) < 0 }

func (l Line) String() string { return fmt.Sprintf("%d.%d", l.major, l.Minor) }

// Previous is the only series that a downgrade may go to.
func (l Line) Previous() Line { return Line{l.major, l.Minor - 1} }

// Next is the only series that an upgrade may go to.
func (l Line) Next() Line { return Line{l.major, l.Minor + 1} }

// Less reports whether l is an older series than o.
func (l Line) Less(o Line) bool {
	return cmp.Or(cmp.Compare(l.major, o.major), cmp.Compare(l.Minor, o.Minor)) < 0
}

// Speaks reports whether a version string that a member reported, of the
// cluster or of its storage, belongs to the series.
func (l Line) Speaks(reported string) bool {
	v, err := Parse(reported)
	return err == nil && v.Line() == l
}

// Series is the series of a version, "" if it is none.
func Series(s string) string {
	v, err := Parse(s)
	if err != nil {
		return ""
	}
	return v.Line().String()
}
