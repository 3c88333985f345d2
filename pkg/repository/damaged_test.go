package repository_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

func TestSplitDamaged(t *testing.T) {
	dir := t.TempDir()
	d, err := repository.NewDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{"db-20300102T030405Z-0a1b", "db-20300102T030405Z-0a1c"}
	for n := range 3 {
		if n > 0 {
			if err := os.WriteFile(filepath.Join(dir, ids[n-1]+".json"), []byte("{"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, err := d.List(t.Context(), "")
		damaged, err := repository.SplitDamaged(err)
		if err != nil || len(damaged) != n {
			t.Fatalf("%d of %d, %v", len(damaged), n, err)
		}
		for i, b := range damaged {
			if b.ID != ids[i] || !errors.Is(b, repository.ErrDamaged) {
				t.Errorf("got %+v", b)
			}
		}
	}
	other := errors.New("no such directory")
	for _, err := range []error{other, errors.Join(&repository.Damaged{ID: "x", Err: repository.ErrDamaged}, other)} {
		if damaged, got := repository.SplitDamaged(err); damaged != nil || !errors.Is(got, other) {
			t.Errorf("%v: %v, %v", err, damaged, got)
		}
	}
}
