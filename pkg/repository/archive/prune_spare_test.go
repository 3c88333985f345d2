package archive

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
)

// older is an engine whose backups need their own timeline and those with higher numbers.
func older(_ string, starts []LogStart, all []Segment) []Segment {
	first := slices.MinFunc(starts, func(x, y LogStart) int { return cmp.Compare(x.Timeline, y.Timeline) })
	return slices.DeleteFunc(slices.Clone(all), func(s Segment) bool { return s.Timeline >= first.Timeline })
}

// timelines stores three segments of each of the timelines 1 to 4, which got nothing for two days but for the newest,
// and a scheduled backup of the third one.
func timelines(t *testing.T, keys Keys) aged {
	t.Helper()
	s := aged{directory(t), map[string]time.Duration{}}
	a := Open(s, keys)
	for timeline := 1; timeline <= 4; timeline++ {
		name := strconv.Itoa(timeline)
		if timeline < 4 {
			s.by[a.Log(scope, "1").prefix()+name+"/"] = 48 * time.Hour
		}
		for n := range 3 {
			segment := numbered(n)
			segment.Timeline = name
			if err := a.Log(scope, "1").Append(t.Context(), segment, pages(10)); err != nil {
				t.Fatal(err)
			}
		}
	}
	from(t, a, "b3", LogStart{Timeline: "3", Segment: numbered(1).Name})
	return s
}

// segments counts those of each timeline.
func segments(t *testing.T, a *Archive) map[string]int {
	t.Helper()
	all, err := a.Log(scope, "1").Segments(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for _, s := range all {
		out[s.Timeline]++
	}
	return out
}

// planned is what a plan says that goes of each timeline.
func planned(p *Plan) map[string]int {
	out := map[string]int{}
	for _, l := range p.Log {
		out[l.Timeline] += l.Segments
	}
	return out
}

func TestPruneTimelines(t *testing.T) {
	keys, _ := testKeys(t)
	others, _ := testKeys(t)
	all := map[string]int{"1": 3, "2": 3, "3": 3, "4": 3}
	without := func(timelines ...string) map[string]int {
		out := maps.Clone(all)
		for _, name := range timelines {
			delete(out, name)
		}
		return out
	}
	for name, c := range map[string]struct {
		change func(t *testing.T, a *Archive, s aged)
		by     Retention
		spare  Spare
		left   map[string]int
	}{
		"no backup needs them": {left: without("1", "2")},
		"nobody tells":         {spare: func(string, []LogStart, []Segment) []Segment { return nil }, left: all},
		"a backup": {
			change: func(t *testing.T, a *Archive, _ aged) {
				from(t, a, "b2", LogStart{Timeline: "2", Segment: numbered(0).Name})
			},
			left: without("1"),
		},
		"a backup that goes": {
			change: func(t *testing.T, a *Archive, _ aged) {
				from(t, a, "b4", LogStart{Timeline: "4", Segment: numbered(1).Name})
			},
			by: Retention{Last: 1}, left: map[string]int{"4": 2},
		},
		"a backup of others": {
			change: func(t *testing.T, _ *Archive, s aged) {
				from(t, Open(s, others), "b2", LogStart{Timeline: "2", Segment: numbered(0).Name})
			},
			left: without("1"),
		},
		"backups of others alone": {
			change: func(t *testing.T, a *Archive, s aged) {
				if err := a.Remove(t.Context(), find(t, a, "b3")); err != nil {
					t.Fatal(err)
				}
				from(t, Open(s, others), "b4", LogStart{Timeline: "4", Segment: numbered(0).Name})
			},
			left: all,
		},
		"no backup": {
			change: func(t *testing.T, a *Archive, _ aged) {
				if err := a.Remove(t.Context(), find(t, a, "b3")); err != nil {
					t.Fatal(err)
				}
			},
			left: all,
		},
		"a backup that does not say where its log begins": {
			change: func(t *testing.T, a *Archive, _ aged) { of(t, a, "strange", "1") }, left: all,
		},
		"a backup under way": {
			change: func(t *testing.T, a *Archive, _ aged) {
				if _, _, err := a.Begin(t.Context(), request("half", "op-half", "")); err != nil {
					t.Fatal(err)
				}
			},
			left: all,
		},
		"a hold of a backup that is kept": {
			change: func(t *testing.T, a *Archive, _ aged) {
				if _, _, err := a.Hold(t.Context(), find(t, a, "b3"), time.Hour, "restore"); err != nil {
					t.Fatal(err)
				}
			},
			left: without("1", "2"),
		},
		"a hold of a backup that is gone": {
			change: func(t *testing.T, a *Archive, _ aged) {
				from(t, a, "b2", LogStart{Timeline: "2", Segment: numbered(0).Name})
				e := find(t, a, "b2")
				if _, _, err := a.Hold(t.Context(), e, time.Hour, "restore"); err != nil {
					t.Fatal(err)
				}
				if err := a.store.Delete(t.Context(), e.Key); err != nil {
					t.Fatal(err)
				}
			},
			left: all,
		},
		"a hold of what is not there": {
			change: func(t *testing.T, a *Archive, _ aged) {
				e := find(t, a, "b3")
				e.Attempt = strings.Repeat("0", len(e.Attempt))
				if _, err := a.putHold(t.Context(), e, time.Now().Add(time.Hour), "restore"); err != nil {
					t.Fatal(err)
				}
			},
			left: all,
		},
		"a manifest of a newer version": {
			change: func(t *testing.T, a *Archive, _ aged) {
				storetest.Put(t, a.store, scope.prefix(kindManifest)+"7_i-1.json", "{}")
			},
			left: all,
		},
		"one got something today": {
			change: func(_ *testing.T, a *Archive, s aged) { s.by[a.Log(scope, "1").prefix()+"2/"] = 23 * time.Hour },
			left:   without("1"),
		},
		"two segments of a name": {
			change: func(t *testing.T, a *Archive, s aged) {
				for _, key := range storetest.Keys(t, s, a.Log(scope, "1").prefix()+"1/") {
					if strings.Contains(key, escape(numbered(1).Name)+"_") {
						storetest.Put(t, s, strings.Replace(key, "_h-", "_h-0", 1), "other bytes")
					}
				}
			},
			left: map[string]int{"1": 2, "3": 3, "4": 3},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := timelines(t, keys)
			a := Open(s, keys)
			if c.change != nil {
				c.change(t, a, s)
			}
			p, err := a.Plan(t.Context(), scope, c.by)
			if err != nil {
				t.Fatal(err)
			}
			by := Spare(older)
			if c.spare != nil {
				by = c.spare
			}
			p.Spares(by)
			before := segments(t, a)
			if err := a.PlanLog(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(before, segments(t, a)); diff != "" {
				t.Errorf("the plan deletes\n%s", diff)
			}
			r, err := a.Prune(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			left := segments(t, a)
			if diff := gocmp.Diff(c.left, left); diff != "" {
				t.Error(diff)
			}
			gone := map[string]int{}
			for timeline, n := range before {
				if n > left[timeline] {
					gone[timeline] = n - left[timeline]
					r.Segments -= gone[timeline]
				}
			}
			if diff := gocmp.Diff(gone, planned(p)); diff != "" || r.Segments != 0 {
				t.Errorf("what goes is not what was planned, or counted (%d):\n%s", r.Segments, diff)
			}
		})
	}
}

// TestPruneTimelinesThatWereShown: what has become surplus after a plan was shown stays.
func TestPruneTimelinesThatWereShown(t *testing.T) {
	keys, _ := testKeys(t)
	s := timelines(t, keys)
	a := Open(s, keys)
	from(t, a, "b2", LogStart{Timeline: "2", Segment: numbered(0).Name})
	plan := func() *Plan {
		p, err := a.Plan(t.Context(), scope, Retention{})
		if err != nil {
			t.Fatal(err)
		}
		p.Spares(older)
		return p
	}
	shown := plan()
	if err := a.PlanLog(t.Context(), shown); err != nil {
		t.Fatal(err)
	}
	if err := a.Remove(t.Context(), find(t, a, "b2")); err != nil {
		t.Fatal(err)
	}
	for i, want := range []map[string]int{{"2": 3, "3": 3, "4": 3}, {"3": 3, "4": 3}} {
		p := plan()
		if i == 0 {
			p.Only(shown)
		}
		if _, err := a.Prune(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(want, segments(t, a)); diff != "" {
			t.Errorf("prune %d:\n%s", i, diff)
		}
	}
}

// TestPruneTimelinesKilled ends a prune at each request: a later one comes to the same end.
func TestPruneTimelinesKilled(t *testing.T) {
	keys, _ := testKeys(t)
	for n := 1; ; n++ {
		s := timelines(t, keys)
		run := func(a *Archive) error {
			p, err := a.Plan(t.Context(), scope, Retention{})
			if err == nil {
				p.Spares(older)
				_, err = a.Prune(t.Context(), p)
			}
			return err
		}
		err := run(Open(&storetest.Fault{Store: s, Before: storetest.FailAt(n)}, keys))
		if err == nil {
			if n < 12 {
				t.Errorf("a prune takes only %d requests", n)
			}
			return
		}
		if !errors.Is(err, storetest.ErrFault) {
			t.Fatal(err)
		}
		if err := run(Open(s, keys)); err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(map[string]int{"3": 3, "4": 3}, segments(t, Open(s, keys))); diff != "" {
			t.Fatalf("killed at %d:\n%s", n, diff)
		}
	}
}
