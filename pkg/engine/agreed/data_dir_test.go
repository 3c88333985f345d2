package agreed

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// TestCompareDataDirs: data goes first if it holds all of the other, and nothing else counts.
func TestCompareDataDirs(t *testing.T) {
	t.Parallel()
	at := func(timeline, offset uint64, forks ...Fork) DataEnd {
		return DataEnd{System: "7", Timeline: timeline, Offset: offset, Forks: forks}
	}
	atLeast := func(e DataEnd) DataEnd { e.AtLeast = true; return e }
	other := at(1, 100)
	other.System = "8"
	forked := at(2, 150, Fork{1, 100})
	for name, c := range map[string]struct {
		a, b DataEnd
		want int
		ok   bool
	}{
		"the same":                       {at(1, 100), at(1, 100), 0, true},
		"a longer log":                   {at(1, 120), at(1, 100), 1, true},
		"an ancestor, up to the fork":    {at(1, 100), forked, -1, true},
		"an ancestor, after the fork":    {at(1, 101), forked, 0, false},
		"a longer log of an ancestor":    {at(1, 9000), forked, 0, false},
		"two that left the same one":     {at(3, 150, Fork{1, 100}), forked, 0, false},
		"over two forks":                 {at(4, 200, Fork{1, 100}, Fork{2, 160}), forked, 1, true},
		"a timeline that it passed over": {at(4, 200, Fork{1, 100}, Fork{3, 160}), forked, 0, false},
		"another database":               {other, at(1, 100), 0, false},
		"it may reach further":           {atLeast(at(1, 100)), at(1, 110), 0, false},
		"it reaches further, at least":   {atLeast(at(1, 120)), at(1, 110), 1, true},
		"both may reach further":         {atLeast(at(1, 120)), atLeast(at(1, 120)), 0, false},
	} {
		got, ok := Rules{}.CompareDataDirs(c.a.Encode(), c.b.Encode())
		back, okBack := Rules{}.CompareDataDirs(c.b.Encode(), c.a.Encode())
		if ok != c.ok || okBack != c.ok || ok && (got != c.want || back != -c.want) {
			t.Errorf("%s: %d, %t and %d, %t; want %d, %t", name, got, ok, back, okBack, c.want, c.ok)
		}
		read, ok := parseDataEnd(c.a.Encode())
		if diff := cmp.Diff(c.a, read); diff != "" || !ok {
			t.Errorf("%s: it is read as another one: %s", name, diff)
		}
	}
	if _, ok := (Rules{}).CompareDataDirs("", ""); ok {
		t.Error("nothing is compared with nothing")
	}
	for want, c := range map[string]engine.Gap{
		"20 bytes of the log behind": {Leader: at(1, 120).Encode(), Member: at(1, 100).Encode()},
		"it ends on timeline 1 rather than 2, 50 bytes of the log behind": {Leader: forked.Encode(),
			Member: at(1, 100).Encode()},
		"it may hold writes that the other does not": {Leader: forked.Encode(), Member: at(1, 140).Encode()},
		"how far they are apart is not known":        {Leader: forked.Encode(), Member: other.Encode()},
	} {
		if got := (Rules{}).DataDirLag(c); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if !(Rules{}).SameDatabase("7", "7@token") || (Rules{}).SameDatabase("7", "70@token") {
		t.Error("the database is another one by its incarnation")
	}
}
