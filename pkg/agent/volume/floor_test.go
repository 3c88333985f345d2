package volume

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

func TestFloor(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	f, err := OpenFloor(directory)
	if err != nil || f.Generation() != 0 {
		t.Fatalf("a new volume has the floor %d: %v", f.Generation(), err)
	}
	for _, c := range []struct{ raise, want protocol.Generation }{{3, 3}, {2, 3}, {3, 3}, {7, 7}} {
		if err := f.Raise(c.raise); err != nil {
			t.Fatal(err)
		}
		again, err := OpenFloor(directory)
		if err != nil || f.Generation() != c.want || again.Generation() != c.want {
			t.Errorf("raised to %d it is %d, and %d on disk: %v", c.raise, f.Generation(), again.Generation(), err)
		}
	}
	if err := os.RemoveAll(directory); err != nil {
		t.Fatal(err)
	}
	if err := f.Raise(9); err == nil || f.Generation() != 7 {
		t.Errorf("a floor that could not be written is %d: %v", f.Generation(), err)
	}
	damaged := t.TempDir()
	if err := os.WriteFile(filepath.Join(damaged, "floor"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenFloor(damaged); err == nil {
		t.Error("a damaged floor is read as 0")
	}
}
