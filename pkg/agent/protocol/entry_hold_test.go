package protocol

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestReplaceHold(t *testing.T) {
	t.Parallel()
	d := serving(t, Preferred)
	next := Hold{By: "other", For: time.Hour, Number: 1}
	refused(t, d, "there is none to replace", &ReplaceHold{ID: "h", Hold: next}, &ReplaceHold{ID: "h"})
	agree(t, d, &StartHold{ID: "h", Hold: Hold{By: "me"}})
	refused(t, d, "it counts from another one", &ReplaceHold{ID: "h", Hold: Hold{Number: 2}},
		&ReplaceHold{ID: "h", Hold: Hold{Number: 0}}, &ReplaceHold{ID: "h", Hold: Hold{Number: 1, For: 31 * 24 * time.Hour}})
	agree(t, d, &ReplaceHold{ID: "h", Hold: next})
	if diff := cmp.Diff(map[string]Hold{"h": next}, d.Holds); diff != "" {
		t.Errorf("what is in force: %s", diff)
	}
	refused(t, d, "the one whose time is over was replaced", &ExpireHold{ID: "h"})
	agree(t, d, &ExpireHold{ID: "h", Number: 1})
	refused(t, d, "none is in force", &ExpireHold{ID: "h", Number: 1})
}

// TestHoldTime: a hold that took the place of another one lasts its own time, and a group with an older member ends one
// in the way that this one knows.
func TestHoldTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		level int
		ends  Entry
	}{
		"all are new":  {highestLevel, &ExpireHold{ID: "h", Number: 1}},
		"one is older": {5, &EndHold{ID: "h"}},
	} {
		d := serving(t, Async)
		for id, m := range d.Members {
			m.Level = c.level
			d.Members[id] = m
		}
		n := start(d, "m2", 1, 0)
		n.Step(0, Led{Leading: true})
		ends := func(at Instant) (found Entry) {
			for _, effect := range n.Step(at, Tick{}) {
				if p, ok := effect.(Propose); ok && (p.Entry.Kind() == "expireHold" || p.Entry.Kind() == "endHold") {
					found = p.Entry
				}
			}
			return found
		}
		n.Step(0, Applied{Index: d.Index + 1, Entry: &StartHold{ID: "h", Hold: Hold{By: "me", For: 2 * time.Second}}})
		n.Step(second, Applied{Index: d.Index + 2,
			Entry: &ReplaceHold{ID: "h", Hold: Hold{By: "me", For: 2 * time.Second, Number: 1}}})
		if e := ends(2 * second); e != nil {
			t.Errorf("%s: the hold ends with the one before it, by %+v", name, e)
		}
		if diff := cmp.Diff(c.ends, ends(3*second)); diff != "" {
			t.Errorf("%s: the end of it: %s", name, diff)
		}
	}
}

// TestBeginHold: the entry that replaces a hold is proposed only once every member can apply it.
func TestBeginHold(t *testing.T) {
	t.Parallel()
	h := Hold{By: "me", Number: 1}
	for name, c := range map[string]struct {
		level int
		held  bool
		want  Entry
	}{
		"none is in force":    {highestLevel, false, &StartHold{ID: "h", Hold: h}},
		"one is in force":     {highestLevel, true, &ReplaceHold{ID: "h", Hold: h}},
		"one member is older": {5, true, &StartHold{ID: "h", Hold: h}},
	} {
		d := serving(t, Async)
		m := d.Members["m3"]
		for id := range d.Members {
			m.Level = highestLevel
			d.Members[id] = m
		}
		m.Level = c.level
		d.Members["m3"] = m
		if c.held {
			d.Holds = map[string]Hold{"h": {By: "me"}}
		}
		if diff := cmp.Diff(c.want, d.BeginHold("h", h)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
