package engine

import "strings"

// Versions orders the versions of an engine. Nothing outside the engine splits
// a version: one has two numbers ("17.5"), another three ("3.6.16").
type Versions interface {
	// CompareVersions orders two versions as they were released: -1, 0, 1, and
	// false if one of them is no version of this engine. A series counts as its
	// first release.
	CompareVersions(a, b string) (int, bool)
	// Series is what versions share that read each other's data: "3.6" for
	// "3.6.16", "17" for "17.5", "10.11" for "10.11.14". The series of a series is
	// itself; "" for what is no version.
	Series(version string) string
}

// SameSeries reports whether both are versions, and of one series.
func SameSeries(v Versions, a, b string) bool {
	s := v.Series(a)
	return s != "" && s == v.Series(b)
}

// Nearest is Catalog.Resolve, and for a release that the catalog doesn't list
// the newest of its series: data of a database that something else made.
func Nearest(e interface {
	Versions
	Catalog() Catalog
}, version string) (Release, error) {
	c := e.Catalog()
	r, err := c.Resolve(version)
	if err == nil {
		return r, nil
	}
	if series := e.Series(version); series != "" && series != strings.TrimPrefix(version, "v") {
		if near, found := c.Resolve(series); found == nil {
			return near, nil
		}
	}
	return r, err
}
