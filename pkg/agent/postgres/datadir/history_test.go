package datadir

import (
	"testing"

	"github.com/google/go-cmp/cmp"
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

// TestHistoryOfMoment is that of a server that recovered to a moment on timeline 2, along timeline 6, and then went on.
func TestHistoryOfMoment(t *testing.T) {
	t.Parallel()
	l, err := ParseHistory(8, "1\t0/5000000\tx\n\n2\t0/1C000000\tx\n\n3\t0/1D000000\tx\n\n4\t0/1E000000\tx\n\n"+
		"5\t0/1F000028\tx\n\n6\t0/801F7F0\tbefore 2026-11-25 15:11:52.968244+00\n\n7\t0/801F940\tx\n")
	if err != nil {
		t.Fatal(err)
	}
	want := Lineage{Timeline: 8, Forks: []Fork{{1, 0x5000000}, {2, 0x801F7F0}, {7, 0x801F940}}}
	if diff := cmp.Diff(want, l); diff != "" {
		t.Error(diff)
	}
	for at, want := range map[LSN]uint64{0x5000000: 1, 0x5000001: 2, 0x801F7F0: 2, 0x801F8C8: 7, 0x1C000000: 8} {
		if got := l.At(at); got != want {
			t.Errorf("%s is on timeline %d, want %d", at, got, want)
		}
	}
}

func FuzzHistory(f *testing.F) {
	f.Add("1\t0/3000000\treason\n")
	f.Fuzz(func(t *testing.T, content string) {
		l, err := ParseHistory(9, content)
		if err != nil {
			return
		}
		for i := range l.Forks[min(1, len(l.Forks)):] {
			if l.Forks[i].End > l.Forks[i+1].End {
				t.Errorf("%v ends before it began", l.Forks[i+1])
			}
		}
	})
}
