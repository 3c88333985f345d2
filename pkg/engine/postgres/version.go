package postgres

import (
	"cmp"
	"strconv"
	"strings"
)

// versions implements engine.Versions: "17.5" is the release 5 of the major version 17, whose releases read each
// other's data (https://www.postgresql.org/support/versioning/).
type versions struct{}

type version struct{ major, release int }

// parse reads a release, or a major version as its first one.
func parse(s string) (version, bool) {
	major, release, both := strings.Cut(strings.TrimPrefix(s, "v"), ".")
	a, err := strconv.ParseUint(major, 10, 31)
	if err != nil || !both {
		return version{major: int(a)}, err == nil
	}
	b, err := strconv.ParseUint(release, 10, 31)
	return version{int(a), int(b)}, err == nil
}

// CompareVersions implements engine.Versions.
func (versions) CompareVersions(a, b string) (int, bool) {
	va, okA := parse(a)
	vb, okB := parse(b)
	if !okA || !okB {
		return 0, false
	}
	return cmp.Or(cmp.Compare(va.major, vb.major), cmp.Compare(va.release, vb.release)), true
}

// Series implements engine.Versions: the major version.
func (versions) Series(s string) string {
	v, ok := parse(s)
	if !ok {
		return ""
	}
	return strconv.Itoa(v.major)
}
