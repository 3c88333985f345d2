package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte(strings.Repeat("early\n", 10000)+"one\ntwo\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, want := Tail(path, 3), "  early\n  one\n  two"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := Tail(path+"-missing", 3); !strings.Contains(got, "no such file") {
		t.Errorf("%q", got)
	}
}
