package harness

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPostgresReleases(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("DBOP_CLUSTER_CACHE", cache)
	for name, content := range map[string]string{
		"15":        `{"major": 15, "version": "15.20", "image": "docker.io/library/postgres:15.20", "root": "/x"}`,
		"15-before": `{"major": 15, "version": "15.9", "image": "docker.io/library/postgres:15.9", "root": "/y"}`,
		"15-same":   `{"major": 15, "version": "15.9", "image": "docker.io/library/postgres:15.9", "root": "/z"}`,
		"18":        `{"major": 18, "version": "18beta1", "image": "docker.io/library/postgres:18beta1"}`,
	} {
		dir := filepath.Join(cache, "postgres", name)
		if err := os.MkdirAll(dir, 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "release.json"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := PostgresReleases(15)
	if err != nil {
		t.Fatal(err)
	}
	var versions []string
	for _, r := range got {
		versions = append(versions, r.Version)
	}
	if diff := cmp.Diff([]string{"15.20", "15.9"}, versions); diff != "" {
		t.Errorf("releases of 15, the newest first (-want +got):\n%s", diff)
	}
	if one, err := Postgres(15); err != nil || one.Bin() != "/x/usr/lib/postgresql/15/bin" {
		t.Errorf("the newest is %+v, %v", one, err)
	}
	if one, err := Postgres(18); err != nil || one.Version != "18beta1" {
		t.Errorf("18 is %+v, %v", one, err)
	}
	if one, err := Postgres(17); err == nil {
		t.Errorf("17 is %+v, but nobody made it", one)
	}
}
