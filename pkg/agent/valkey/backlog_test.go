//go:build linux

package valkey

import "testing"

func TestBacklog(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ maxmemory, want string }{
		{"", "67108864"}, {"0", "67108864"}, {"10gb", "67108864"}, {"64mb", "8388608"}, {"20MB", "2621440"},
		{"8000k", "1048576"}, {"80000000", "10000000"}, {"lots", "67108864"}, {"-1", "67108864"}, {"1tb", "67108864"},
		{"99999999999999999999g", "67108864"}, {"18446744073709551615gb", "67108864"},
	} {
		if got := backlog(map[string]string{"MaxMemory": c.maxmemory}); got != c.want {
			t.Errorf("with maxmemory %q the server keeps %s bytes, want %s", c.maxmemory, got, c.want)
		}
	}
	if got := backlog(nil); got != "67108864" {
		t.Errorf("without maxmemory the server keeps %s bytes", got)
	}
}
