package contracttest

import (
	"slices"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

func positions(t testing.TB, c Case) {
	for i, a := range c.Positions {
		for j, b := range c.Positions {
			if got, ok := c.Engine.Compare(a, b); !ok || sign(got) != sign(i-j) {
				t.Errorf("%s and %s compare as %d (%t), want %d", a, b, got, ok, sign(i-j))
			}
		}
		for _, other := range []engine.Position{c.ForeignPosition, "", "?"} {
			if got, ok := c.Engine.Compare(a, other); ok {
				t.Errorf("%q and %q can't be compared, and are: %d", a, other, got)
			}
			if got, ok := c.Engine.Compare(other, a); ok {
				t.Errorf("%q and %q can't be compared, and are: %d", other, a, got)
			}
		}
		seen := map[string]bool{}
		for _, r := range c.Engine.Readings(a) {
			if r.Name == "" || r.Value == "" || seen[r.Name] {
				t.Errorf("position %s reads as %+v", a, c.Engine.Readings(a))
			}
			seen[r.Name] = true
		}
	}
	if got := c.Engine.Readings("?"); got != nil {
		t.Errorf("what is no position reads as %+v", got)
	}
}

func lag(t testing.TB, c Case) {
	for i, leader := range c.Positions {
		for j, member := range c.Positions {
			got, ok := c.Engine.Lag(engine.Gap{Leader: leader, Member: member})
			if !ok || got.Unit == "" || (got.Amount > 0) != (i > j) || got.Amount < 0 {
				t.Errorf("a member at %s is %s (%t) behind a leader at %s", member, got, ok, leader)
			}
		}
	}
	if got, ok := c.Engine.Lag(engine.Gap{Leader: c.Positions[0], Member: c.ForeignPosition}); ok {
		t.Errorf("a member of another history is %s behind", got)
	}
}

func proofs(t testing.TB, c Case) {
	for i, p := range append(slices.Clone(c.Proofs), "") {
		for j, q := range append(slices.Clone(c.Proofs), "") {
			want := engine.MatchDifferent
			switch {
			case p == "" || q == "":
				want = engine.MatchUnknown
			case i == j:
				want = engine.MatchSame
			}
			if got := c.Engine.CompareProofs(p, q); got != want {
				t.Errorf("%q and %q: %q, want %q", p, q, got, want)
			}
		}
	}
}

func sign(n int) int { return max(-1, min(1, n)) }
