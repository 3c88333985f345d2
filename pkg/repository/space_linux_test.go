package repository_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// A real full disk, on both sides of the wire.
func TestFullDisk(t *testing.T) {
	root := t.TempDir()
	if err := syscall.Mount("tmpfs", root, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("only root mounts: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(root, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	local, err := repository.NewDirectory(filepath.Join(root, "local"))
	if err != nil {
		t.Fatal(err)
	}
	for name, repo := range map[string]repository.Repository{
		"local":  local,
		"remote": repository.NewRemote("pvc:claim", serve(t, filepath.Join(root, "remote"))),
	} {
		_, err := put(t, repo, id, "op-1", make([]byte, 64<<20))
		if !errors.Is(err, repository.ErrNoSpace) || !strings.Contains(err.Error(), "bytes free") {
			t.Errorf("%s: %v", name, err)
		}
		mustPut(t, repo, id, noise(1<<20))
		if err := repo.Delete(t.Context(), id); err != nil {
			t.Error(err)
		}
		if left := names(t, filepath.Join(root, name)); len(left) > 0 {
			t.Errorf("%s: it left %v", name, left)
		}
	}
	if _, err := os.Stat(root); err != nil {
		t.Error(err)
	}
}
