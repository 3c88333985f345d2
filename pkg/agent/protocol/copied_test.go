package protocol

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCopied gives up a copy of a set in force for one that was made from a primary. Whether it stands for the former
// copy depends on which primary, and on whose writes may be on it.
func TestCopied(t *testing.T) {
	t.Parallel()
	m1, m2, m3 := Standby{"m1", "v1"}, Standby{"m2", "v2"}, Standby{"m3", "v3"}
	of := func(p Standby, standbys ...Standby) SyncSet { return SyncSet{Primary: p, Standbys: standbys, Need: 1} }
	former := of(Standby{"m6", "v6"}, Standby{"m4", "v4"}, Standby{"m5", "v5"})
	for _, c := range []struct {
		name    string
		inForce []SyncSet
		copies  []Entry
		missing string
	}{
		{"a copy from the last primary", []SyncSet{of(m1, m2, m3)},
			[]Entry{&Copied{"m2", "new", 4}, &Copied{"m3", "newer", 4}}, ""},
		{"one of two", []SyncSet{of(m1, m2, m3)}, []Entry{&Copied{"m2", "new", 4}}, ""},
		{"a copy after a copy", []SyncSet{of(m1, m2)},
			[]Entry{&Copied{"m2", "new", 4}, &Copied{"m2", "newer", 4}}, ""},
		{"a copy of which nobody knows what it was made from", []SyncSet{of(m1, m2)},
			[]Entry{&Cloned{"m2", "new"}}, "m2"},
		{"that after a copy from the last primary", []SyncSet{of(m1, m2)},
			[]Entry{&Copied{"m2", "new", 4}, &Cloned{"m2", "newer"}}, "m2"},
		{"a copy from another primary", []SyncSet{of(m1, m2)}, []Entry{&Copied{"m2", "new", 3}}, "m2"},
		{"a copy that came back", []SyncSet{of(m1, m2, Standby{"m2", "new"})},
			[]Entry{&Copied{"m2", "new", 4}, &Copied{"m2", "v2", 4}}, "m2"},
		{"a copy from a primary that is none yet", []SyncSet{of(m1, m2)}, []Entry{&Copied{"m2", "new", 6}}, "m2"},
		{"what was acknowledged before the last primary", []SyncSet{former},
			[]Entry{&Copied{"m2", "new", 4}}, ""},
		{"that without a copy from it", []SyncSet{former}, nil, "m4 or m5"},
		{"what the last primary wrote after the copy", []SyncSet{of(m1, Standby{"m4", "v4"})},
			[]Entry{&Copied{"m2", "new", 4}}, "m4"},
		{"another copy of the last primary", []SyncSet{of(Standby{"m1", "former"}, m2)},
			[]Entry{&Copied{"m2", "new", 4}}, "m2"},
	} {
		d := serving(t, Strict)
		d.Generation, d.InForce = 4, c.inForce
		for i := range d.InForce {
			d.InForce[i].Version = uint64(7 + i)
		}
		agree(t, d, &Seal{Generation: 5, LeaseNumber: d.LeaseNumber})
		agree(t, d, c.copies...)
		for offset, id := range []MemberID{"m3", "m2"} {
			agree(t, d, &Reported{Member: id, Generation: 5, Report: Report{Volume: d.Members[id].Volume,
				Position: Position{Timeline: 1, Offset: 990 + uint64(offset)}}})
		}
		got, why := Choose(d)
		if c.missing == "" && got != "m2" || c.missing != "" && !strings.Contains(why, "may be on "+c.missing+" alone") {
			t.Errorf("%s: %q, %s", c.name, got, why)
		}
	}
}

// TestCopiedAgain: what is known of former copies ends with the generation.
func TestCopiedAgain(t *testing.T) {
	t.Parallel()
	d := serving(t, Strict)
	agree(t, d, &Copied{"m2", "a", 1}, &Copied{"m2", "b", 1})
	if m := d.Members["m2"]; m.CopiedIn != 1 || !cmp.Equal(m.Replaced, []string{"v2", "a"}) {
		t.Errorf("it replaced %+v", m)
	}
	agree(t, d, &Seal{Generation: 2, LeaseNumber: d.LeaseNumber}, &Copied{"m2", "c", 2})
	if m := d.Members["m2"]; m.CopiedIn != 2 || !cmp.Equal(m.Replaced, []string{"b"}) {
		t.Errorf("it replaced %+v", m)
	}
	refused(t, d, "it is known", &Copied{"m2", "c", 2})
	agree(t, d, &Copied{"m2", "d", 9})
	if m := d.Members["m2"]; m.CopiedIn != 0 || m.Replaced != nil {
		t.Errorf("a copy of a generation to come counts: %+v", m)
	}
}

// TestCopiedLevel: members that don't know the entry get the one they know.
func TestCopiedLevel(t *testing.T) {
	t.Parallel()
	for _, level := range []int{4, 5} {
		d := serving(t, Strict)
		for id, m := range d.Members {
			m.Level = level
			d.Members[id] = m
		}
		n := New(Config{ID: "m2", Start: d.Members["m2"].Start, Document: *d})
		effects := n.Step(0, Observed{Server: Server{System: d.System, Volume: "new", CopiedIn: 1, Role: Replica,
			Generation: 1, Upstream: "m1"}})
		_, tells := proposed[*Copied](effects)
		if _, plain := proposed[*Cloned](effects); tells == plain || tells != (level == 5) {
			t.Errorf("at level %d it proposes %+v", level, effects)
		}
	}
}
