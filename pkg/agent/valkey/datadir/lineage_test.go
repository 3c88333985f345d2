package datadir

import "testing"

func TestLineage(t *testing.T) {
	t.Parallel()
	own := Lineage{{Timeline: 2, Begin: 0}, {Timeline: 3, Begin: 100}}
	for _, c := range []struct {
		name   string
		theirs Lineage
		end    uint64
		holds  bool
	}{
		{"the same", own, 150, true},
		{"one that went on", own.Next(5, 200), 150, true},
		{"one that went on right here", own.Next(5, 150), 150, true},
		{"one that left earlier", own.Next(5, 149), 150, false},
		{"one that left an earlier timeline", Lineage{{Timeline: 2}, {Timeline: 4, Begin: 90}}, 150, false},
		{"one that left it after this end", Lineage{{Timeline: 2}, {Timeline: 4, Begin: 90}}, 90, true},
		{"another one", Lineage{{Timeline: 7, Begin: 10}}, 150, false},
		{"one without a history", nil, 150, false},
		{"nothing yet", Lineage{{Timeline: 7, Begin: 0}}, 0, true},
	} {
		if got := c.theirs.Holds(own, c.end); got != c.holds {
			t.Errorf("%s: it holds %t, want %t", c.name, got, c.holds)
		}
	}
	if at := own.At(100); at != 2 {
		t.Errorf("the byte before a branch is on timeline %d", at)
	}
	if at := own.At(101); at != 3 {
		t.Errorf("the first byte of a branch is on timeline %d", at)
	}
	if next := own.Next(9, 50); len(next) != 2 || next.Last() != 9 {
		t.Errorf("a branch before the last one gives %v", next)
	}
}
