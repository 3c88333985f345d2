package datadir

import (
	"testing"
)

func TestHistory(t *testing.T) {
	t.Parallel()
	l, err := ParseHistory(5, "1\t0/3000000\tno recovery target specified\n# comment\n\n3\t1/10\tx\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		at   LSN
		want uint64
	}{{0x2000000, 1}, {0x3000000, 1}, {0x3000001, 3}, {0x100000010, 3}, {0x100000011, 5}} {
		if got := l.At(c.at); got != c.want {
			t.Errorf("%s is on timeline %d, want %d", c.at, got, c.want)
		}
	}
	for _, c := range []struct {
		name string
		own  Lineage
		end  LSN
		want bool
	}{
		{"the same timeline", Lineage{Timeline: 5}, 0x200000000, true},
		{"an ancestor, before the fork", Lineage{Timeline: 3}, 0x100000010, true},
		{"an ancestor, after the fork", Lineage{Timeline: 3}, 0x100000018, false},
		{"a sibling, after its own fork", Lineage{Timeline: 4, Forks: []Fork{{3, 0x90000000}}}, 0x90000008, false},
		{"a sibling that wrote nothing", Lineage{Timeline: 4, Forks: []Fork{{3, 0x90000000}}}, 0x90000000, true},
	} {
		if got := l.Holds(c.own, c.end); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
	for _, bad := range []string{"x\t0/1\n", "1\n", "1\tzero\n", "5\t0/1\n"} {
		if _, err := ParseHistory(5, bad); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

func FuzzHistory(f *testing.F) {
	f.Add("1\t0/3000000\treason\n")
	f.Fuzz(func(_ *testing.T, content string) {
		if l, err := ParseHistory(9, content); err == nil {
			l.At(7)
		}
	})
}
