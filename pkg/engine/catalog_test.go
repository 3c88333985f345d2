package engine_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// known has versions of two and of three numbers.
func known() engine.Catalog {
	return engine.Catalog{Releases: []engine.Release{{Version: "3.5.9", Series: "3.5"},
		{Version: "3.5.10", Series: "3.5"},
		{Version: "3.6.1", Series: "3.6"}, {Version: "18.1", Series: "18"}}}
}

// dotted is an engine whose series is all but the last number.
type dotted struct{ engine.Versions }

func (dotted) Catalog() engine.Catalog { return known() }
func (dotted) Series(version string) string {
	version = strings.TrimPrefix(version, "v")
	if strings.Count(version, ".") == 1 && !strings.HasPrefix(version, "18.") {
		return version
	}
	if i := strings.LastIndex(version, "."); i > 0 {
		return version[:i]
	}
	return ""
}

func TestResolve(t *testing.T) {
	t.Parallel()
	c := known()
	for asked, want := range map[string]string{"18": "18.1", "3.5": "3.5.10", "v3.5.9": "3.5.9", "3.6": "3.6.1"} {
		if r, err := c.Resolve(asked); err != nil || r.Version != want {
			t.Errorf("%s resolves to %q (%v), want %s", asked, r.Version, err, want)
		}
	}
	for _, asked := range []string{"", "3", "3.7", "3.5.1", "latest"} {
		_, err := c.Resolve(asked)
		var refusal *engine.Refusal
		if !errors.As(err, &refusal) || !strings.Contains(refusal.Hint, "3.5.9, 3.5.10, 3.6.1, 18.1") {
			t.Errorf("%q resolves without a refusal that names what is known: %v", asked, err)
		}
	}
}

func TestMirrored(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"gcr.io/a/b:v1", "", "gcr.io/a/b:v1"},
		{"gcr.io/a/b:v1", "mirror.local:5000", "mirror.local:5000/a/b:v1"},
		{"localhost/b", "mirror.local", "mirror.local/b"},
		{"library/b@sha256:0", "mirror.local", "mirror.local/library/b@sha256:0"},
		{"b", "mirror.local/proxy", "mirror.local/proxy/b"},
	} {
		if got := engine.Mirrored(c[0], c[1]); got != c[2] {
			t.Errorf("%s from %s is %s, want %s", c[0], c[1], got, c[2])
		}
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string]string{"18.0": "18.1", "3.5.9": "3.5.9", "3.5.4": "3.5.10", "v3.6.99": "3.6.1",
		"3.6": "3.6.1", "3.4.1": "", "latest": "", "3.7": ""} {
		if r, err := engine.Nearest(dotted{}, asked); r.Version != want || (err == nil) != (want != "") {
			t.Errorf("nearest to %s is %q (%v), want %q", asked, r.Version, err, want)
		}
	}
}
