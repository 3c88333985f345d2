package helpercmd

import (
	"runtime/debug"
	"testing"
)

func TestSaveMemory(t *testing.T) {
	former := debug.SetGCPercent(100)
	t.Cleanup(func() { debug.SetGCPercent(former) })
	for gogc, want := range map[string]int{"": garbagePercent, "off": 100} {
		debug.SetGCPercent(100)
		saveMemory(func(string) string { return gogc })
		if got := debug.SetGCPercent(100); got != want {
			t.Errorf("with GOGC=%q it collects at %d %%", gogc, got)
		}
	}
}
