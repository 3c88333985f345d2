package harness

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReleases(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("DBOP_CLUSTER_CACHE", cache)
	for name, content := range map[string]string{
		"8":      `{"major": 8, "version": "8.1.9", "image": "docker.io/valkey/valkey:8.1.9"}`,
		"8-next": `{"major": 8, "version": "8.1.10", "image": "docker.io/valkey/valkey:8.1.10"}`,
		"9":      `{"major": 9, "version": "9.1.2", "image": "docker.io/valkey/valkey:9.1.2"}`,
	} {
		dir := filepath.Join(cache, "valkey", name)
		if err := os.MkdirAll(dir, 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "release.json"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, err := Releases("valkey", 8)
	if err != nil {
		t.Fatal(err)
	}
	var versions []string
	for _, r := range found {
		versions = append(versions, r.Version)
	}
	if diff := cmp.Diff([]string{"8.1.10", "8.1.9"}, versions); diff != "" {
		t.Errorf("releases of 8, the newest first (-want +got):\n%s", diff)
	}
	if found, err := Releases("redis", 8); err == nil {
		t.Errorf("redis 8 is %+v, but nobody made it", found)
	}
}
