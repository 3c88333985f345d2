package engine

import "testing"

// TestDisk: a disk is full before its last byte is used.
func TestDisk(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		disk Disk
		full bool
	}{
		"not measured":                   {Disk{}, false},
		"50% full (500 of 1000 MiB)":     {Disk{Used: 500 << 20, Total: 1000 << 20}, false},
		"94% full (940 of 1000 MiB)":     {Disk{Used: 940 << 20, Total: 1000 << 20}, false},
		"95% full (950 of 1000 MiB)":     {Disk{Used: 950 << 20, Total: 1000 << 20}, true},
		"94% full (221 of 236 MiB)":      {Disk{Used: 221 << 20, Total: 236 << 20}, true},
		"100% full (236 of 236 MiB)":     {Disk{Used: 236 << 20, Total: 236 << 20}, true},
		"90% full (92160 of 102400 MiB)": {Disk{Used: 90 << 30, Total: 100 << 30}, false},
	} {
		if got := c.disk.String(); got != want || c.disk.Full() != c.full {
			t.Errorf("%q, full %t; want %q, %t", got, c.disk.Full(), want, c.full)
		}
	}
}
