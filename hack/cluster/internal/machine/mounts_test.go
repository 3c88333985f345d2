package machine

import (
	"slices"
	"strings"
	"testing"
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
