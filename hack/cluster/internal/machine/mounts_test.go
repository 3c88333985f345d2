package machine

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestParseMounts(t *testing.T) {
	mountinfo := `27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
40 27 0:40 / /var/lib/dbop-cluster rw - tmpfs tmpfs rw
41 27 0:41 / /var/lib/dbop-cluster-other/a rw - tmpfs tmpfs rw
42 27 0:42 / /var/lib/dbop-cluster/with\040space rw - tmpfs tmpfs rw
43 27 0:4 net:[4026532247] /var/lib/dbop-cluster/netns/node-1//deleted rw - nsfs nsfs rw
`
	got, err := parseMounts(strings.NewReader(mountinfo), "/var/lib/dbop-cluster")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"/var/lib/dbop-cluster", "/var/lib/dbop-cluster/with space", "/var/lib/dbop-cluster/netns/node-1"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestUnmountBelow: what is below goes, and memory at the place itself stays until it is asked for.
func TestUnmountBelow(t *testing.T) {
	dir := t.TempDir()
	if err := MountMemory(dir, "1m"); errors.Is(err, unix.EPERM) {
		t.Skip("only root may mount")
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = Unmount(dir) })
	below := filepath.Join(dir, "below")
	if err := errors.Join(os.Mkdir(below, 0o755), MountMemory(below, "1m")); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		unmount func(string) error
		want    []string
	}{{func(string) error { return nil }, []string{dir, below}}, {UnmountBelow, []string{dir}}, {Unmount, nil}} {
		if err := step.unmount(dir); err != nil {
			t.Fatal(err)
		}
		if got, err := Mounts(dir); err != nil || !slices.Equal(got, step.want) {
			t.Errorf("mounted are %q, %v; want %q", got, err, step.want)
		}
	}
}
