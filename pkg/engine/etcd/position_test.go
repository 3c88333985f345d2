package etcd

import (
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/positions"
)

func TestCompare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b engine.Position
		want int
		ok   bool
	}{
		{"c1/2/100/50", "c1/2/100/50", 0, true},
		{"c1/2/99/50", "c1/2/100/50", -1, true},
		{"c1/2/101/50", "c1/3/100/50", 1, true},
		{"c1/2/100/50", "c2/2/100/50", 0, false},
		{"", "c1/2/100/50", 0, false},
		{"0/1234", "0/1235", 0, false},
	} {
		if got, ok := New().Compare(c.a, c.b); got != c.want || ok != c.ok {
			t.Errorf("Compare(%q, %q) = %d, %v; want %d, %v", c.a, c.b, got, ok, c.want, c.ok)
		}
	}
}

func FuzzPosition(f *testing.F) {
	f.Add("c1/2/100/50")
	f.Add("///")
	f.Fuzz(func(t *testing.T, s string) {
		p, ok := positions.Parse(engine.Position(s))
		if !ok {
			return
		}
		if again, ok := positions.Parse(p.Encode()); !ok || again != p {
			t.Errorf("%q reads as %+v, written again as %q", s, p, p.Encode())
		}
		if order, ok := New().Compare(engine.Position(s), p.Encode()); !ok || order != 0 {
			t.Errorf("%q differs from itself", s)
		}
	})
}

// TestLag names both ends: exchanged, one that is behind would be none.
func TestLag(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		gap  engine.Gap
		want int64
		ok   bool
	}{
		{engine.Gap{Leader: "c1/2/100/50", Member: "c1/2/93/50"}, 7, true},
		{engine.Gap{Leader: "c1/2/100/50", Member: "c1/2/100/50"}, 0, true},
		{engine.Gap{Leader: "c1/2/100/50", Member: "c1/2/101/50"}, 0, true},
		{engine.Gap{Leader: "c1/2/100/50", Member: "c1/3/99/50"}, 1, true},
		{engine.Gap{Leader: "c1/2/100/50", Member: "c2/2/99/50"}, 0, false},
		{engine.Gap{Leader: "c1/2/100/50"}, 0, false},
	} {
		if got, ok := New().Lag(c.gap); got.Amount != c.want || ok != c.ok {
			t.Errorf("%+v is %s (%t), want %d (%t)", c.gap, got, ok, c.want, c.ok)
		}
	}
}
