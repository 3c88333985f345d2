package harness

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFlipBitDamagesEveryCopy(t *testing.T) {
	file := filepath.Join(t.TempDir(), "db")
	if err := os.WriteFile(file, []byte("..value..value.."), 0o600); err != nil {
		t.Fatal(err)
	}
	n, err := FlipBit(file, "value")
	if err != nil || n != 2 {
		t.Fatalf("%d copies, %v", n, err)
	}
	if got, _ := os.ReadFile(file); string(got) != "..valud..valud.." {
		t.Errorf("the file holds %q", got)
	}
	if _, err := FlipBit(file, "value"); err == nil {
		t.Error("text that is not there was damaged")
	}
}
