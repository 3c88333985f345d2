package contracttest

import (
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

func versions(t testing.TB, c Case) {
	e := c.Engine
	for i, a := range c.Versions {
		for j, b := range c.Versions {
			if got, ok := e.CompareVersions(a, b); !ok || sign(got) != sign(i-j) {
				t.Errorf("%s and %s compare as %d (%t), want %d", a, b, got, ok, sign(i-j))
			}
		}
		series := e.Series(a)
		if series == "" || e.Series(series) != series {
			t.Errorf("the series of %s is %q, and the series of that is %q", a, series, e.Series(series))
		}
		if !engine.SameSeries(e, a, series) {
			t.Errorf("%s is not of its own series %s", a, series)
		}
	}
	for _, no := range append(c.NotVersions, "", "latest") {
		if got, ok := e.CompareVersions(no, c.Versions[0]); ok {
			t.Errorf("%q is no version and compares as %d", no, got)
		}
		if got, ok := e.CompareVersions(c.Versions[0], no); ok {
			t.Errorf("%q is no version and compares as %d", no, got)
		}
		if s := e.Series(no); s != "" || engine.SameSeries(e, no, no) {
			t.Errorf("%q is no version and has series %q", no, s)
		}
	}
}

func catalog(t testing.TB, c Case) {
	releases := c.Engine.Catalog().Releases
	if len(releases) == 0 {
		t.Fatal("there is nothing to run")
	}
	newest := map[string]string{}
	for i, r := range releases {
		if i > 0 {
			if order, ok := c.Engine.CompareVersions(releases[i-1].Version, r.Version); !ok || order >= 0 {
				t.Errorf("%s is listed before %s", releases[i-1].Version, r.Version)
			}
		}
		if s := c.Engine.Series(r.Version); s == "" || s != r.Series {
			t.Errorf("%s is listed in series %q, and is of %q", r.Version, r.Series, s)
		}
		if found, err := c.Engine.Catalog().Resolve(r.Version); err != nil || found != r {
			t.Errorf("%s resolves to %+v (%v)", r.Version, found, err)
		}
		if r.Image == "" {
			t.Errorf("%s has no image", r.Version)
		}
		newest[r.Series] = r.Version
	}
	for series, version := range newest {
		if found, err := c.Engine.Catalog().Resolve(series); err != nil || found.Version != version {
			t.Errorf("series %s resolves to %q (%v), want %s", series, found.Version, err, version)
		}
	}
	if d := c.Engine.Catalog().Default; d != "" {
		if _, err := c.Engine.Catalog().Resolve(d); err != nil {
			t.Errorf("the default: %v", err)
		}
	}
}
