//go:build linux

package postgres

import "testing"

func TestLogSizes(t *testing.T) {
	t.Parallel()
	for volume, want := range map[uint64]uint64{
		0: 64, 256 << 20: 64, 960 << 20: 120, 4 << 30: 512, 8 << 30: 1024, 1 << 40: 1024,
	} {
		if keep, most := logSizes(volume); keep != want || most != want {
			t.Errorf("of %d bytes %d MB are kept and %d MB gather, want %d", volume, keep, most, want)
		}
	}
	for volume, want := range map[uint64]uint64{0: 64, 1 << 30: 256, 1 << 40: 256 << 10} {
		if got := slotSize(volume); got != want {
			t.Errorf("of %d bytes %d MB wait for a slot, want %d", volume, got, want)
		}
	}
}
