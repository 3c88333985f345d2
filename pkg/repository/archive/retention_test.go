package archive

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// daily makes a scheduled backup at 02:00 of each of so many days, newest first, the newest on Monday,
// 2026-11-23. They are named by the day.
func daily(days int) []Entry {
	newest := time.Date(2026, 11, 23, 2, 0, 0, 0, time.UTC)
	out := make([]Entry, days)
	for i := range out {
		at := newest.AddDate(0, 0, -i)
		out[i] = Entry{Attempt: fmt.Sprintf("%05d", days-i), ID: at.Format("01-02"), Scheduled: true, Stored: at}
	}
	return out
}

func kept(all []Decision) []string {
	out := []string{}
	for _, d := range all {
		if d.Keep {
			out = append(out, d.ID)
		}
	}
	return out
}

func TestRetention(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	restorable := func(e *Entry) { e.Proof = &Proof{Level: LevelRestorable} }
	for name, c := range map[string]struct {
		rule   Retention
		days   int
		change func(e []Entry)
		want   []string
	}{
		"nothing said keeps all": {days: 3, want: []string{"11-23", "11-22", "11-21"}},
		"last":                   {rule: Retention{Last: 2}, days: 5, want: []string{"11-23", "11-22"}},
		"within": {
			rule: Retention{Within: 59 * time.Hour}, days: 5, want: []string{"11-23", "11-22", "11-21"},
		},
		"the newest stays": {
			rule: Retention{Within: time.Minute}, days: 3, want: []string{"11-23"},
		},
		"weeks begin on Monday": {
			rule: Retention{Weekly: 3}, days: 30, want: []string{"11-23", "11-22", "11-15"},
		},
		"months": {rule: Retention{Monthly: 3}, days: 100, want: []string{"11-23", "10-31", "09-30"}},
		"all together": {
			rule: Retention{Daily: 2, Weekly: 2, Monthly: 2}, days: 60, want: []string{"11-23", "11-22", "10-31"},
		},
		"by hand": {
			rule: Retention{Last: 1}, days: 3, change: func(e []Entry) { e[2].Scheduled = false },
			want: []string{"11-23", "11-21"},
		},
		"the newest proven": {
			rule: Retention{Last: 1}, days: 5, change: func(e []Entry) { restorable(&e[2]); restorable(&e[3]) },
			want: []string{"11-23", "11-21"},
		},
		"the newest proven, of which a later proof failed": {
			rule: Retention{Last: 1}, days: 5, change: func(e []Entry) {
				restorable(&e[2])
				restorable(&e[3])
				restorable(&e[4])
				e[2].Failed = &Proof{Level: LevelIntact, Failed: true}
			},
			want: []string{"11-23", "11-21", "11-20"},
		},
		"a lower proof is none": {
			rule: Retention{Last: 1}, days: 3, change: func(e []Entry) { e[1].Proof = &Proof{Level: LevelIntact} },
			want: []string{"11-23"},
		},
		"held": {
			rule: Retention{Last: 1}, days: 4, change: func(e []Entry) {
				e[2].HeldUntil, e[3].HeldUntil = now.Add(time.Minute), now.Add(-time.Minute)
			},
			want: []string{"11-23", "11-21"},
		},
		"parents of what is kept": {
			rule: Retention{Last: 1}, days: 5, change: func(e []Entry) {
				e[0].Parent, e[1].Parent = e[1].Attempt, e[2].Attempt
				e[3].Parent = e[4].Attempt
			},
			want: []string{"11-23", "11-22", "11-21"},
		},
		"a parent under two names": {
			rule: Retention{Last: 1}, days: 4, change: func(e []Entry) {
				e[3].Attempt, e[0].Parent = e[2].Attempt, e[2].Attempt
			},
			want: []string{"11-23", "11-21", "11-20"},
		},
		"the window of the log": {
			rule: Retention{Last: 1, LogWindow: 36 * time.Hour}, days: 5, change: func(e []Entry) {
				for i := range e {
					e[i].Log = &LogStart{Timeline: "1", Segment: e[i].ID}
				}
				e[2].Log = nil
			},
			want: []string{"11-23", "11-22", "11-20"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			entries := daily(c.days)
			if c.change != nil {
				c.change(entries)
			}
			got := c.rule.Decide(entries, now, func(Entry) bool { return true })
			if d := cmp.Diff(c.want, kept(got)); d != "" {
				t.Errorf("kept (-want +got):\n%s", d)
			}
			if slices.ContainsFunc(got, func(d Decision) bool { return d.Reason == "" }) {
				t.Error("a decision has no reason")
			}
		})
	}
}

// TestRetentionInAZone holds that a day is one of the schedule's time zone.
func TestRetentionInAZone(t *testing.T) {
	zone := time.FixedZone("", 14*3600)
	entries := []Entry{
		{Attempt: "2", ID: "b", Scheduled: true, Stored: time.Date(2026, 11, 23, 11, 0, 0, 0, time.UTC)},
		{Attempt: "1", ID: "a", Scheduled: true, Stored: time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)},
	}
	got := Retention{Daily: 2, Location: zone}.Decide(entries, entries[0].Stored, nil)
	if d := cmp.Diff([]string{"b", "a"}, kept(got)); d != "" {
		t.Errorf("kept (-want +got):\n%s", d)
	}
}

// TestRetentionOfWrongClocks: backups whose names lie about when they were taken.
func TestRetentionOfWrongClocks(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	at := func(id, from string, stored time.Duration) Entry {
		started, err := time.Parse(time.DateOnly, from)
		if err != nil {
			t.Fatal(err)
		}
		return Entry{ID: id, Attempt: from + id, Scheduled: true, StartedAt: started, Stored: now.Add(-stored),
			Log: &LogStart{Timeline: "1", Segment: id}}
	}
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		rule    Retention
		entries []Entry
		want    []string
	}{
		"far ahead": {
			rule:    Retention{Last: 1},
			entries: []Entry{at("ahead", "2036-01-01", 10*day), at("fresh", "2026-11-23", time.Hour)},
			want:    []string{"fresh"},
		},
		"behind": {
			rule: Retention{Last: 1},
			entries: []Entry{at("yesterday", "2026-11-22", day), at("older", "2026-11-21", 2*day),
				at("fresh", "2026-11-20", time.Hour)},
			want: []string{"yesterday", "fresh"},
		},
		"imported, the newest first": {
			rule: Retention{Last: 1},
			entries: []Entry{at("c", "2026-11-22", 3*time.Hour), at("b", "2026-11-21", 2*time.Hour),
				at("a", "2026-11-20", time.Hour)},
			want: []string{"c", "a"},
		},
		"behind, in the window of the log": {
			rule: Retention{Last: 1, LogWindow: 36 * time.Hour},
			entries: []Entry{at("c", "2026-11-23", time.Hour), at("b", "2026-11-21", 2*day), at("late", "2026-11-20", day),
				at("a", "2026-11-19", 4*day)},
			want: []string{"c", "b", "late"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.rule.Decide(c.entries, now, func(Entry) bool { return false })
			if d := cmp.Diff(c.want, kept(got)); d != "" {
				t.Errorf("kept (-want +got):\n%s", d)
			}
		})
	}
}

// TestForgedProof holds that a proof that nobody signed protects nothing in the place of the real one.
func TestForgedProof(t *testing.T) {
	entries := daily(4)
	entries[1].Proof, entries[2].Proof = &Proof{Level: LevelRestorable}, &Proof{Level: LevelRestorable}
	got := Retention{Last: 1}.Decide(entries, entries[0].Stored, func(e Entry) bool { return e.ID != "11-22" })
	if d := cmp.Diff([]string{"11-23", "11-21"}, kept(got)); d != "" {
		t.Errorf("kept (-want +got):\n%s", d)
	}
}
