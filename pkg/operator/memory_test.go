package operator

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

func TestMemoryLimit(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	for text, want := range map[string]int64{"536870912\n": 512 << 20, "max\n": math.MaxInt64,
		"9223372036854771712\n": 9223372036854771712, "": math.MaxInt64} {
		file := filepath.Join(t.TempDir(), "limit")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := memoryLimit([]string{none, file}); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// TestAnswersFitIntoMemory: the limit of the manifest leaves as many workers as are the default.
func TestAnswersFitIntoMemory(t *testing.T) {
	for limit, want := range map[int64]int{512 << 20: 16, 256 << 20: 5, 64 << 20: 1, 4 << 30: 16, math.MaxInt64: 16} {
		if got := fitting(limit, 16); got != want {
			t.Errorf("%d MiB: %d workers, want %d", limit>>20, got, want)
		}
	}
	if got := fitting(4<<30, 100); got != 100 {
		t.Errorf("%d workers, 100 were asked for and fit", got)
	}
}
