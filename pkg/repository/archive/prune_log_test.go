package archive

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
)

// TestPruneLog keeps what replays from the oldest kept backup.
func TestPruneLog(t *testing.T) {
	keys, _ := testKeys(t)
	s := directory(t)
	a := Open(s, keys)
	l := a.Log(scope, "1")
	for n := range 10 {
		if err := l.Append(t.Context(), numbered(n), pages(10)); err != nil {
			t.Fatal(err)
		}
	}
	for i, at := range []int{2, 5, 7} {
		from(t, a, fmt.Sprint("b", i), LogStart{Timeline: "1", Segment: numbered(at).Name})
	}
	if r := prune(t, a, Retention{Last: 2}); r.Segments != 5 || len(r.Deleted) != 1 {
		t.Errorf("%+v", r)
	}
	if w, err := l.Window(t.Context()); err != nil || len(w.Ranges) != 1 || w.Ranges[0].First != numbered(5).Name {
		t.Errorf("%+v, %v", w, err)
	}
}

// TestPruneLogOfTimelines: a backup of the first timeline needs the second one from its beginning, although a backup
// starts in the middle of that.
func TestPruneLogOfTimelines(t *testing.T) {
	keys, _ := testKeys(t)
	a := Open(directory(t), keys)
	l := a.Log(scope, "1")
	for n := range 6 {
		for _, timeline := range []string{"1", "2"} {
			segment := numbered(n)
			segment.Timeline = timeline
			if err := l.Append(t.Context(), segment, pages(10)); err != nil {
				t.Fatal(err)
			}
		}
	}
	from(t, a, "b0", LogStart{Timeline: "1", Segment: numbered(0).Name})
	from(t, a, "b1", LogStart{Timeline: "1", Segment: numbered(2).Name})
	from(t, a, "b2", LogStart{Timeline: "2", Segment: numbered(4).Name})
	if r := prune(t, a, Retention{Last: 2}); r.Segments != 0 || len(r.Deleted) != 1 {
		t.Errorf("with backups of both timelines it deleted %+v", r)
	}
	from(t, a, "b3", LogStart{Timeline: "2", Segment: numbered(5).Name})
	if r := prune(t, a, Retention{Last: 2}); r.Segments != 4 || len(r.Deleted) != 1 {
		t.Errorf("with backups of one timeline it deleted %+v", r)
	}
}

// TestPruneLogOfWhatStays: the log that goes on from backups that the store retains stays, and that of backups that no
// trusted key signed.
func TestPruneLogOfWhatStays(t *testing.T) {
	keys, _ := testKeys(t)
	others, _ := testKeys(t)
	for name, by := range map[string]Keys{"retained": keys, "unsigned": others} {
		t.Run(name, func(t *testing.T) {
			s := directory(t)
			f := &storetest.Fault{Store: s}
			a := Open(f, keys)
			l := a.Log(scope, "1")
			for n := range 8 {
				if err := l.Append(t.Context(), numbered(n), pages(10)); err != nil {
					t.Fatal(err)
				}
			}
			from(t, a, "b0", LogStart{Timeline: "1", Segment: numbered(1).Name})
			from(t, Open(s, by), "stays", LogStart{Timeline: "1", Segment: numbered(3).Name})
			from(t, a, "b2", LogStart{Timeline: "1", Segment: numbered(6).Name})
			retained := find(t, a, "stays").Key
			f.Before = func(c storetest.Call) error {
				if c.Name == "delete" && c.Key == retained {
					return store.ErrRetained
				}
				return nil
			}
			if r := prune(t, a, Retention{Last: 1}); r.Segments != 3 || len(r.Deleted) != 1 {
				t.Errorf("%+v", r)
			}
			w, err := l.Window(t.Context())
			if err != nil || len(w.Ranges) != 1 || w.Ranges[0].First != numbered(3).Name {
				t.Errorf("%+v, %v", w, err)
			}
		})
	}
}

// from stores a scheduled backup that starts from a segment.
func from(t *testing.T, a *Archive, id string, start LogStart) {
	t.Helper()
	w, _, err := a.Begin(t.Context(), request(id, "op-"+id, ""))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Stream(t.Context(), "base.tar", strings.NewReader("base")); err != nil {
		t.Fatal(err)
	}
	m := Manifest{Engine: "pg", Incarnation: "1", Scheduled: true, Log: &start, Streams: []Stream{{Name: "base.tar"}}}
	if _, err := w.Commit(t.Context(), m); err != nil {
		t.Fatal(err)
	}
}

// TestPruneAgainstRestoreOfLog begins a restore that replays the log at each request of a prune, and prunes once more
// while it lasts: the log that goes on from its backup stays. It goes once the restore has ended.
func TestPruneAgainstRestoreOfLog(t *testing.T) {
	keys, _ := testKeys(t)
	held := 0
	for n := 1; ; n++ {
		s := directory(t)
		a := Open(s, keys)
		l := a.Log(scope, "1")
		for i := range 8 {
			if err := l.Append(t.Context(), numbered(i), pages(10)); err != nil {
				t.Fatal(err)
			}
		}
		for i, at := range []int{1, 3, 5} {
			from(t, a, fmt.Sprint("b", i), LogStart{Timeline: "1", Segment: numbered(at).Name})
		}
		entry := find(t, a, "b0")
		var h *Hold
		var refused error
		f := &storetest.Fault{Store: s}
		f.Before = func(c storetest.Call) error {
			if c.Number == n {
				_, h, refused = a.Hold(t.Context(), entry, time.Hour, "restore")
			}
			return nil
		}
		prune(t, Open(f, keys), Retention{Last: 2})
		if f.Calls() < n {
			break
		}
		if refused != nil {
			if !errors.Is(refused, ErrNotFound) {
				t.Fatalf("at %d: %v", n, refused)
			}
			continue
		}
		held++
		prune(t, a, Retention{Last: 1})
		if w, err := l.Window(t.Context()); err != nil || len(w.Ranges) != 1 || w.Ranges[0].First > numbered(1).Name {
			t.Fatalf("at %d: the log of a held backup is gone: %+v, %v", n, w, err)
		}
		if err := a.Release(t.Context(), h); err != nil {
			t.Fatal(err)
		}
		from(t, a, "b3", LogStart{Timeline: "1", Segment: numbered(7).Name})
		prune(t, a, Retention{Last: 1})
		if w, err := l.Window(t.Context()); err != nil || len(w.Ranges) != 1 || w.Ranges[0].First != numbered(7).Name {
			t.Errorf("at %d: after the restore: %+v, %v", n, w, err)
		}
	}
	if held < 3 {
		t.Errorf("only %d restores began", held)
	}
}
