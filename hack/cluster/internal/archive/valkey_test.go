package archive

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/release"
)

func TestValkeyHasTheLayoutOfTheOfficialImage(t *testing.T) {
	for _, family := range []string{release.Valkey, release.Redis} {
		root := t.TempDir()
		if err := os.MkdirAll(filepath.Join(root, "usr", "bin"), 0o755); err != nil {
			t.Fatal(err)
		}
		program := filepath.Join(root, "usr", "bin", family+"-server")
		if err := os.WriteFile(program, []byte("server"), 0o755); err != nil {
			t.Fatal(err)
		}
		image := written(t, database(release.Built{
			Family: family, Major: 8, Version: "8.1.1", Image: "docker.io/x/" + family + ":8.1.1", Root: root,
		}))
		found := files(t, image)
		for path, want := range map[string]struct {
			mode  int64
			owner int
		}{"usr/bin/" + family + "-server": {0o755, 0}, "etc/passwd": {0o644, 0}, "data": {0o755, 999}} {
			if h := found[path]; h == nil || h.Mode != want.mode || h.Uid != want.owner || h.Gid != want.owner {
				t.Errorf("%s: %s is %+v, want mode %o of %d", family, path, h, want.mode, want.owner)
			}
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if c := config.Config; c.WorkingDir != "/data" || len(c.Volumes) != 1 || c.Cmd[0] != family+"-server" {
			t.Errorf("%s: config %+v", family, c)
		}
	}
}
