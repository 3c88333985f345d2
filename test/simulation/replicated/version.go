package replicated

import (
	"cmp"
	"strconv"
	"strings"
)

// version is a series and a release of it; a series alone is its first release.
// versions implements engine.Versions.
type versions struct{}

type version struct{ series, release int }

func parse(s string) (version, bool) {
	series, release, both := strings.Cut(strings.TrimPrefix(s, "v"), ".")
	a, err := strconv.ParseUint(series, 10, 31)
	if err != nil || !both {
		return version{series: int(a)}, err == nil
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
	return cmp.Or(cmp.Compare(va.series, vb.series), cmp.Compare(va.release, vb.release)), true
}

// Series implements engine.Versions: the first number.
func (versions) Series(s string) string {
	v, ok := parse(s)
	if !ok {
		return ""
	}
	return strconv.Itoa(v.series)
}
