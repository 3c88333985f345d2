package archive

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/release"
)

func TestPostgresHasTheLayoutOfTheOfficialImage(t *testing.T) {
	for title, test := range map[string]struct {
		major        int
		data, volume string
	}{
		"before 18": {17, "/var/lib/postgresql/data", "/var/lib/postgresql/data"},
		"since 18":  {18, "/var/lib/postgresql/18/docker", "/var/lib/postgresql"},
	} {
		t.Run(title, func(t *testing.T) {
			root := t.TempDir()
			if err := os.MkdirAll(filepath.Join(root, "usr", "bin"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(root, "usr", "bin", "dash"), []byte("shell"), 0o755); err != nil {
				t.Fatal(err)
			}
			for link, target := range map[string]string{"bin": "usr/bin", "usr/bin/sh": "dash"} {
				if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
					t.Fatal(err)
				}
			}
			image := written(t, database(release.Built{
				Family: release.Postgres, Major: test.major, Version: "1.2", Image: "docker.io/library/postgres:1.2", Root: root,
			}))
			found := files(t, image)
			for path, want := range map[string]struct {
				mode  int64
				owner int
			}{
				"usr/bin/dash": {0o755, 0}, "etc/passwd": {0o644, 0}, "tmp": {0o1777, 0},
				"var/lib/postgresql": {0o1777, 999}, "run/postgresql": {0o3777, 999},
			} {
				if h := found[path]; h == nil || h.Mode != want.mode || h.Uid != want.owner || h.Gid != want.owner {
					t.Errorf("%s is %+v, want mode %o of %d", path, h, want.mode, want.owner)
				}
			}
			for path, want := range map[string]string{"bin": "usr/bin", "usr/bin/sh": "dash", "var/run": "/run"} {
				if h := found[path]; h == nil || h.Linkname != want {
					t.Errorf("%s is %+v, want a link to %s", path, h, want)
				}
			}
			config, err := image.ConfigFile()
			if err != nil {
				t.Fatal(err)
			}
			if c := config.Config; !slices.Contains(c.Env, "PGDATA="+test.data) || c.StopSignal != "SIGINT" || c.User != "" {
				t.Errorf("config %+v", c)
			}
			if _, ok := config.Config.Volumes[test.volume]; !ok || len(config.Config.Volumes) != 1 {
				t.Errorf("volumes %v, want %s", config.Config.Volumes, test.volume)
			}
		})
	}
}

func TestAnImageHasAllItsNames(t *testing.T) {
	image := Plugin("dbop.test/one:1", program(t, "one"))
	image.Also = []string{"docker.io/library/one:1"}
	file := filepath.Join(t.TempDir(), "image.tar")
	if err := image.Write(file); err != nil {
		t.Fatal(err)
	}
	for _, full := range []string{image.Name, image.Also[0]} {
		tag, err := name.NewTag(full)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tarball.ImageFromPath(file, &tag); err != nil {
			t.Errorf("the archive has no image %s: %v", full, err)
		}
	}
}
