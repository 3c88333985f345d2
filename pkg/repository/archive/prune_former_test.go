package archive

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
)

// incarnations are those of which there is a log.
func incarnations(t *testing.T, s store.Store) []string {
	t.Helper()
	out := []string{}
	for _, key := range storetest.Keys(t, s, scope.prefix(kindLog)) {
		part, _, _ := strings.Cut(strings.TrimPrefix(key, scope.prefix(kindLog)), "/")
		if !slices.Contains(out, part) {
			out = append(out, part)
		}
	}
	return out
}

// former stores the logs of incarnations 1 to 3, the first two of which got nothing for two days, and a backup of the
// third one. Two clusters beside it have a log as old.
func former(t *testing.T, keys Keys) aged {
	t.Helper()
	s := aged{directory(t), map[string]time.Duration{
		scope.prefix(kindLog) + "1/": 50 * time.Hour, scope.prefix(kindLog) + "2/": 48 * time.Hour,
		"log/team-a/my-db-2/": 50 * time.Hour, "log/team-b/my-db/": 50 * time.Hour,
	}}
	a := Open(s, keys)
	for _, l := range []*Log{a.Log(scope, "1"), a.Log(scope, "2"), a.Log(scope, "3"),
		a.Log(Scope{"team-a", "my-db-2"}, "1"), a.Log(Scope{"team-b", "my-db"}, "1")} {
		for n := range 3 {
			segment := numbered(n)
			segment.Timeline = strconv.Itoa(n)
			if err := l.Append(t.Context(), segment, pages(10)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := a.Log(scope, "1").Claim(t.Context(), []string{"owner"}); err != nil {
		t.Fatal(err)
	}
	of(t, a, "b3", "3")
	return s
}

// of stores a scheduled backup of an incarnation.
func of(t *testing.T, a *Archive, id, incarnation string) {
	t.Helper()
	w, _, err := a.Begin(t.Context(), request(id, "op-"+id, ""))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Stream(t.Context(), "base.tar", strings.NewReader("base")); err != nil {
		t.Fatal(err)
	}
	m := Manifest{Engine: "pg", Incarnation: incarnation, Scheduled: true, Streams: []Stream{{Name: "base.tar"}}}
	if _, err := w.Commit(t.Context(), m); err != nil {
		t.Fatal(err)
	}
}

func TestPruneFormerLogs(t *testing.T) {
	keys, _ := testKeys(t)
	others, _ := testKeys(t)
	for name, c := range map[string]struct {
		change func(t *testing.T, a *Archive, s aged)
		left   []string
	}{
		"nothing names them": {left: []string{"3"}},
		"a backup": {
			change: func(t *testing.T, a *Archive, _ aged) { of(t, a, "b1", "1") }, left: []string{"1", "3"},
		},
		"a backup of others": {
			change: func(t *testing.T, _ *Archive, s aged) { of(t, Open(s, others), "b2", "2") }, left: []string{"2", "3"},
		},
		"a backup under way": {
			change: func(t *testing.T, a *Archive, _ aged) {
				if _, _, err := a.Begin(t.Context(), request("half", "op-half", "")); err != nil {
					t.Fatal(err)
				}
			},
			left: []string{"1", "2", "3"},
		},
		"a hold": {
			change: func(t *testing.T, a *Archive, _ aged) {
				if _, _, err := a.Hold(t.Context(), find(t, a, "b3"), time.Hour, "restore"); err != nil {
					t.Fatal(err)
				}
			},
			left: []string{"1", "2", "3"},
		},
		"a hold that is over": {
			change: func(t *testing.T, a *Archive, _ aged) {
				e := find(t, a, "b3")
				storetest.Put(t, a.store, e.prefix(kindHold)+e.Attempt+"_t-1_u-"+e.Attempt+".json", "over")
			},
			left: []string{"3"},
		},
		"a proof of a backup that is gone": {
			change: func(t *testing.T, a *Archive, _ aged) {
				gone := strings.Repeat("0", len(find(t, a, "b3").Attempt))
				storetest.Put(t, a.store, scope.prefix(kindProof)+gone+"_l-intact_u-"+gone+".json", "left")
			},
			left: []string{"3"},
		},
		"a manifest of a newer version": {
			change: func(t *testing.T, a *Archive, _ aged) {
				storetest.Put(t, a.store, scope.prefix(kindManifest)+"7_i-1.json", "{}")
			},
			left: []string{"1", "2", "3"},
		},
		"an object of a newer version": {
			change: func(t *testing.T, a *Archive, _ aged) {
				storetest.Put(t, a.store, a.Log(scope, "2").prefix()+"1/index", "x")
			},
			left: []string{"2", "3"},
		},
		"it got something today": {
			change: func(_ *testing.T, _ *Archive, s aged) { s.by[scope.prefix(kindLog)+"2/"] = 23 * time.Hour },
			left:   []string{"2", "3"},
		},
		"the newest has no log yet": {
			change: func(t *testing.T, _ *Archive, s aged) {
				for _, key := range storetest.Keys(t, s, scope.prefix(kindLog)+"3/") {
					if err := s.Delete(t.Context(), key); err != nil {
						t.Fatal(err)
					}
				}
			},
			left: []string{"2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := former(t, keys)
			a := Open(s, keys)
			if c.change != nil {
				c.change(t, a, s)
			}
			r := prune(t, a, Retention{})
			if got := incarnations(t, s); !slices.Equal(got, c.left) {
				t.Errorf("there are logs of %q instead of %q", got, c.left)
			}
			if want := 3 * (3 - len(c.left)); r.Segments != want && name != "the newest has no log yet" {
				t.Errorf("%d segments were deleted instead of %d", r.Segments, want)
			}
			if n := len(storetest.Keys(t, s, kindLog+"/team-a/my-db-2/")); n != 3 {
				t.Errorf("%d segments of a cluster beside it are left", n)
			}
			if n := len(storetest.Keys(t, s, kindLog+"/team-b/")); n != 3 {
				t.Errorf("%d segments of another namespace are left", n)
			}
			if n := len(storetest.Keys(t, s, kindOwner+"/")); n != 1 {
				t.Errorf("%d objects say whose a log is", n)
			}
		})
	}
}

// TestPruneFormerLogInForce: the log of a former incarnation gets a segment after a prune saw that it gets none.
func TestPruneFormerLogInForce(t *testing.T) {
	keys, _ := testKeys(t)
	s := former(t, keys)
	prefix := Open(s, keys).Log(scope, "1").prefix()
	f := &storetest.Fault{Store: s, Before: func(c storetest.Call) error {
		if c.Name != "list" || c.Key != prefix {
			return nil
		}
		delete(s.by, prefix)
		for n := range 3 {
			s.by[prefix+strconv.Itoa(n)+"/"] = 50 * time.Hour
		}
		segment := numbered(9)
		segment.Timeline = "9"
		return Open(s, keys).Log(scope, "1").Append(t.Context(), segment, pages(10))
	}}
	prune(t, Open(f, keys), Retention{})
	if n := len(storetest.Keys(t, s, prefix)); n != 4 {
		t.Errorf("%d segments are left", n)
	}
}

// TestPruneFormerLogsKilled ends a prune at each request: a later one comes to the same end.
func TestPruneFormerLogsKilled(t *testing.T) {
	keys, _ := testKeys(t)
	for n := 1; ; n++ {
		s := former(t, keys)
		f := &storetest.Fault{Store: s, Before: storetest.FailAt(n)}
		killed := Open(f, keys)
		p, err := killed.Plan(t.Context(), scope, Retention{})
		if err == nil {
			_, err = killed.Prune(t.Context(), p)
		}
		if err == nil {
			if n < 12 {
				t.Errorf("a prune takes only %d requests", n)
			}
			return
		}
		if !errors.Is(err, storetest.ErrFault) {
			t.Fatal(err)
		}
		prune(t, Open(s, keys), Retention{})
		if got := incarnations(t, s); !slices.Equal(got, []string{"3"}) {
			t.Fatalf("killed at %d: there are logs of %q", n, got)
		}
		if _, err := Open(s, keys).Find(t.Context(), scope, "b3"); err != nil {
			t.Fatal(err)
		}
	}
}
