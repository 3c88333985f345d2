package postgres

import "testing"

func TestRecordEnd(t *testing.T) {
	t.Parallel()
	const size = 16 << 20
	for _, c := range []struct {
		begin       lsn
		length      uint64
		want        lsn
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

func TestParseMajor(t *testing.T) {
	t.Parallel()
	for out, want := range map[string]int{
		"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)": 15, "postgres (PostgreSQL) 18beta1": 18,
		"postgres (PostgreSQL) 9.6.1": 0, "": 0,
	} {
		if _, got, err := parseVersion(out); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d, %v", out, got, err)
		}
	}
}
