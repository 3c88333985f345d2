package etcd

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// version of etcd. A pre-release counts as its release.
type version struct{ major, minor, patch int }

// line is a minor series, such as 3.6.
type line struct{ major, minor int }

// parseVersion reads "3.6.16", "v3.6.16" or "3.6" (patch 0).
func parseVersion(s string) (version, error) {
	rest, _, _ := strings.Cut(strings.TrimPrefix(s, "v"), "-")
	rest, _, _ = strings.Cut(rest, "+")
	parts := strings.Split(rest, ".")
	if len(parts) < 2 || len(parts) > 3 {
		return version{}, fmt.Errorf("parse etcd version %q: want major.minor.patch", s)
	}
	var numbers [3]int
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 16)
		if err != nil {
			return version{}, fmt.Errorf("parse etcd version %q: %w", s, err)
		}
		numbers[i] = int(n)
	}
	return version{numbers[0], numbers[1], numbers[2]}, nil
}

func (v version) String() string { return fmt.Sprintf("%d.%d.%d", v.major, v.minor, v.patch) }

func (v version) line() line { return line{v.major, v.minor} }

func (v version) compare(o version) int {
	return cmp.Or(cmp.Compare(v.major, o.major), cmp.Compare(v.minor, o.minor), cmp.Compare(v.patch, o.patch))
}

func (v version) less(o version) bool { return v.compare(o) < 0 }

func (l line) String() string { return fmt.Sprintf("%d.%d", l.major, l.minor) }

// previous is the only series that a downgrade may go to.
func (l line) previous() line { return line{l.major, l.minor - 1} }

// next is the only series that an upgrade may go to.
func (l line) next() line { return line{l.major, l.minor + 1} }

func (l line) less(o line) bool {
	return cmp.Or(cmp.Compare(l.major, o.major), cmp.Compare(l.minor, o.minor)) < 0
}

// speaks reports whether a version string that a member reported, of the
// cluster or of its storage, belongs to the series.
func (l line) speaks(reported string) bool {
	v, err := parseVersion(reported)
	return err == nil && v.line() == l
}

// series is the series of a version, "" if it is none.
func series(s string) string {
	v, err := parseVersion(s)
	if err != nil {
		return ""
	}
	return v.line().String()
}

// Series implements engine.Versions: major and minor.
func (*Engine) Series(version string) string { return series(version) }

// CompareVersions implements engine.Versions.
func (*Engine) CompareVersions(a, b string) (int, bool) {
	va, errA := parseVersion(a)
	vb, errB := parseVersion(b)
	if errA != nil || errB != nil {
		return 0, false
	}
	return va.compare(vb), true
}
