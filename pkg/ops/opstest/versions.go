package opstest

import (
	"slices"
	"strconv"
	"strings"
)

// Versions are of numbers with dots between them, of which the first so many
// are the series. It implements engine.Versions.
type Versions int

// CompareVersions orders by number.
func (Versions) CompareVersions(a, b string) (int, bool) {
	na, okA := numbers(a)
	nb, okB := numbers(b)
	if !okA || !okB {
		return 0, false
	}
	return slices.Compare(na, nb), true
}

// Series is "" for what has fewer numbers, or other things than numbers.
func (v Versions) Series(version string) string {
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	if _, ok := numbers(version); !ok || len(parts) < int(v) {
		return ""
	}
	return strings.Join(parts[:v], ".")
}

func numbers(version string) ([]int, bool) {
	var out []int
	for part := range strings.SplitSeq(strings.TrimPrefix(version, "v"), ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil, false
		}
		out = append(out, n)
	}
	for len(out) < 3 {
		out = append(out, 0)
	}
	return out, true
}
