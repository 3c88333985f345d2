package archive

import (
	"slices"
	"testing"
)

// TestOnly: what was not shown stays, and what it adds to.
func TestOnly(t *testing.T) {
	t.Parallel()
	plan := func(keep ...string) *Plan {
		p := &Plan{}
		for _, id := range []string{"d", "c", "b", "a"} {
			e := Entry{ID: id, Attempt: id}
			if id == "b" {
				e.Parent = "a"
			}
			p.Decisions = append(p.Decisions, Decision{Entry: e, Keep: slices.Contains(keep, id)})
		}
		return p
	}
	for name, c := range map[string]struct {
		shown, now *Plan
		want       []string
	}{
		"the same":               {plan("d"), plan("d"), []string{"b", "a", "c"}},
		"one more goes":          {plan("d", "c"), plan("d"), []string{"b", "a"}},
		"one less":               {plan("d"), plan("d", "c"), []string{"b", "a"}},
		"one that adds to it":    {plan("d", "b", "a"), plan("d"), []string{"c"}},
		"none of another moment": {&Plan{}, plan("d"), nil},
	} {
		c.now.Only(c.shown)
		var got []string
		for _, d := range c.now.going() {
			got = append(got, d.ID)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
