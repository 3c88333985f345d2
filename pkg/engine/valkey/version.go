package valkey

import (
	"slices"
	"strconv"
	"strings"
)

// versions implements engine.Versions: "8.1.2" is the patch 2 of the series 8.1, whose releases read each other's data.
type versions struct{}

// parse reads a release, or a series as its first one.
func parse(s string) (parts [3]int, ok bool) {
	words := strings.Split(strings.TrimPrefix(s, "v"), ".")
	if len(words) > len(parts) {
		return parts, false
	}
	for i, w := range words {
		n, err := strconv.ParseUint(w, 10, 31)
		if err != nil {
			return parts, false
		}
		parts[i] = int(n)
	}
	return parts, true
}

// CompareVersions implements engine.Versions.
func (versions) CompareVersions(a, b string) (int, bool) {
	va, okA := parse(a)
	vb, okB := parse(b)
	if !okA || !okB {
		return 0, false
	}
	return slices.Compare(va[:], vb[:]), true
}

// Series implements engine.Versions: the major and the minor version.
func (versions) Series(s string) string {
	v, ok := parse(s)
	if !ok {
		return ""
	}
	return strconv.Itoa(v[0]) + "." + strconv.Itoa(v[1])
}
