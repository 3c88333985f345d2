package archive

import (
	"bytes"
	"errors"
	"syscall"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
)

// TestFullBucket fills the disk of a real store in the middle of a backup: it ends, says why, and goes on once there is
// room. It takes the right to mount.
func TestFullBucket(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("dbop-test", dir, "tmpfs", 0, "size=24m"); err != nil {
		t.Skipf("no small disk to fill: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	server := storetest.StartS3In(t, dir)
	s := openS3(t, server.Config(t, false))
	keys, _ := testKeys(t)
	a := Open(s, keys)
	body := pages(30 << 20)
	if _, err := save(t, a, request("b", "op-1", "file"), body); !errors.Is(err, store.ErrFull) {
		t.Errorf("full: %v", err)
	}
	if _, err := load(t, a, "b"); !errors.Is(err, ErrNotFound) {
		t.Errorf("half a backup: %v", err)
	}
	stored := len(storetest.Keys(t, s, kindData+"/"))
	if err := syscall.Mount("dbop-test", dir, "tmpfs", syscall.MS_REMOUNT, "size=200m"); err != nil {
		t.Fatal(err)
	}
	m, err := save(t, a, request("b", "op-1", "file"), body)
	if err != nil || stored == 0 {
		t.Fatalf("the repeat, behind %d volumes: %v", stored, err)
	}
	if got, err := load(t, a, "b"); err != nil || !bytes.Equal(got, body) || len(m.Streams[0].Volumes) <= stored {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
