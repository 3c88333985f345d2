package datadir

import "testing"

func TestRecordEnd(t *testing.T) {
	t.Parallel()
	const size = 16 << 20
	for _, c := range []struct {
		begin       LSN
		length      uint64
		want        LSN
		description string
	}{
		{0x1000028, 114, 0x10000A0, "in one page"},
		{0x1001FF8, 114, 0x1001FF8 + 8 + 24 + 112, "over the end of a page"},
		{0x1001F88, 120, 0x1002000, "up to the end of a page"},
		{0x1FFFFF8, 114, 0x2000000 + 40 + 112, "over the end of a segment"},
	} {
		if got := recordEnd(c.begin, c.length, size); got != c.want {
			t.Errorf("%s: a record of %d bytes at %s ends at %s, want %s", c.description, c.length, c.begin, got, c.want)
		}
	}
}

func FuzzControl(f *testing.F) {
	f.Add(make([]byte, 8192))
	f.Fuzz(func(_ *testing.T, raw []byte) { _, _ = parseControl(raw) })
}
