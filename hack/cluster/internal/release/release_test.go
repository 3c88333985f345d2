package release

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

func TestSelect(t *testing.T) {
	for name, test := range map[string]struct {
		ask, releases, others []string
		all                   bool
	}{
		"a family":  {[]string{"postgres"}, []string{"15", "15-before", "17", "18"}, nil, false},
		"one":       {[]string{"postgres-17", "etcd"}, []string{"17"}, []string{"etcd"}, false},
		"families":  {[]string{"valkey", "redis-8"}, []string{"8", "9", "8"}, nil, false},
		"none":      {[]string{"etcd"}, nil, []string{"etcd"}, false},
		"not known": {[]string{"postgres-1"}, nil, []string{"postgres-1"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			wanted, others, all := Select(test.ask)
			var names []string
			for _, r := range wanted {
				names = append(names, r.Name)
			}
			if !slices.Equal(names, test.releases) || !slices.Equal(others, test.others) || all != test.all {
				t.Errorf("got %v, %v, %t", names, others, all)
			}
		})
	}
}

func TestSelectAll(t *testing.T) {
	wanted, others, all := Select(nil)
	if len(wanted) != len(All()) || others != nil || !all {
		t.Errorf("got %v, %v, %t", wanted, others, all)
	}
}

func TestFind(t *testing.T) {
	at := site.Site{Cache: t.TempDir()}
	keep := func(r Release, version string) {
		t.Helper()
		content, err := json.Marshal(Built{Major: r.Major, Version: version, Image: r.recipe.image + ":" + version,
			Stamp: r.stamp()})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(r.dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(r.dir(at, "release.json"), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	releases := All()
	if _, ok := releases[0].Find(at); ok {
		t.Error("found before it was made")
	}
	keep(releases[0], "15.20")
	keep(releases[1], "15.20")
	keep(releases[2], "17.12")
	if got, ok := releases[0].Find(at); !ok || got.Version != "15.20" {
		t.Errorf("found %+v, %t", got, ok)
	}
	other := releases[0]
	other.suites = other.suites[:1]
	if _, ok := other.Find(at); ok {
		t.Error("found though it would be made of other packages now")
	}
	if all := InCache(at); len(all) != 2 {
		t.Errorf("all are %+v, want each version once", all)
	}
}

func TestVersionOf(t *testing.T) {
	files := []string{"/x/postgresql-client-15_15.1-0_amd64.deb", "/x/postgresql-15_15.20-0+deb12u1_amd64.deb",
		"/x/redis-server_5%3a7.0.15-1~deb12u7_amd64.deb", "/x/valkey-server_8.1.1+dfsg1-3+deb13u3_amd64.deb"}
	for server, want := range map[string]string{
		"postgresql-15": "15.20", "redis-server": "7.0.15", "valkey-server": "8.1.1", "postgresql-17": "",
	} {
		got, err := Release{recipe: recipe{server: server}}.versionOf(files)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: got %q, %v, want %q", server, got, err, want)
		}
	}
}

func TestLeave(t *testing.T) {
	release := postgres()[0]
	for path, want := range map[string]bool{
		"usr/share/doc": true, "usr/lib/postgresql/15/lib/bitcode": true, "usr/lib/postgresql/15/lib/llvmjit.so": true,
		"usr/lib/postgresql/15/lib/libpqwalreceiver.so": false, "usr/lib/locale": false,
	} {
		if got := release.leave(path); got != want {
			t.Errorf("%s: %t, want %t", path, got, want)
		}
	}
}
