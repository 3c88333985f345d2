package store_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
)

func open(t *testing.T) store.Store {
	t.Helper()
	d, err := store.NewDirectory(filepath.Join(t.TempDir(), "not", "yet"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDirectory(t *testing.T) { storetest.Run(t, open) }

// TestSharedDirectory: the group may read what is stored, also where the directory was there for its owner alone; and
// nobody else may.
func TestSharedDirectory(t *testing.T) {
	root := filepath.Join(t.TempDir(), "team")
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	d, err := store.NewSharedDirectory(root)
	if err != nil {
		t.Fatal(err)
	}
	storetest.Put(t, d, "a/b", "body")
	for path, want := range map[string]os.FileMode{".": 0o750, "a": 0o750, "a/b": 0o640, ".part": 0o750} {
		info, err := os.Stat(filepath.Join(root, path))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", path, info.Mode().Perm(), err, want)
		}
	}
	c, err := d.Capabilities(t.Context())
	if err != nil || c.Free <= 0 {
		t.Errorf("%+v, %v", c, err)
	}
}
