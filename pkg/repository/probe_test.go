package repository_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

func TestProbe(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, writable := range map[string]bool{dir: true, filepath.Join(dir, "not", "yet"): true, file: false,
		filepath.Join(file, "below"): false} {
		d, err := repository.NewDirectory(path)
		if err != nil {
			t.Fatal(err)
		}
		free, err := d.Probe(t.Context())
		if (err == nil) != writable || (writable && free == 0) {
			t.Errorf("%s: %d free, %v", path, free, err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left %v, %v", entries, err)
	}
}
