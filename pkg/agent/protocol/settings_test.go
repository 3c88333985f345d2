package protocol

import (
	"testing"
	"time"
)

// TestSettingsLevel: settings with what older members drop wait until all know it.
func TestSettingsLevel(t *testing.T) {
	t.Parallel()
	for lag, want := range map[time.Duration]int{0: 1, NoReadonlyLag: 6, time.Minute: 6} {
		if got := (Settings{ReadonlyLag: lag}).Level(); got != want || got > highestLevel {
			t.Errorf("with a bound of %s the level is %d, want %d", lag, got, want)
		}
	}
}
