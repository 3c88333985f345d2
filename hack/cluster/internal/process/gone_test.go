package process

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

func TestGone(t *testing.T) {
	at := site.Site{State: t.TempDir()}
	if _, gone := Gone(at, "x"); gone {
		t.Error("a component that never started is gone")
	}
	if err := os.MkdirAll(filepath.Dir(at.PID("x")), 0o755); err != nil {
		t.Fatal(err)
	}
	for content, want := range map[string]bool{
		"4194305": true, // above the kernel's highest number
		"":        false,
		"half":    false,
	} {
		if err := os.WriteFile(at.PID("x"), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		of, gone := Gone(at, "x")
		if gone != want || gone && of != content {
			t.Errorf("%q: got %q, %t, want %t", content, of, gone, want)
		}
	}
}
