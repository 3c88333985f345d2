package disk

import "testing"

func TestFileSize(t *testing.T) {
	for name, test := range map[string]struct{ requested, want int64 }{
		"nothing":             {0, Smallest},
		"too small for XFS":   {64 << 20, Smallest},
		"just big enough":     {Smallest, Smallest},
		"a byte more":         {Smallest + 1, Smallest + 1<<20},
		"whole":               {1 << 30, 1 << 30},
		"decimal, not binary": {1_000_000_000, 954 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			if got := FileSize(test.requested); got != test.want {
				t.Errorf("FileSize(%d) = %d, want %d", test.requested, got, test.want)
			}
		})
	}
}
