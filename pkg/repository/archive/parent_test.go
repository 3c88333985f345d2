package archive

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

// saveChanges writes a scheduled backup that adds to an attempt.
func saveChanges(t *testing.T, a *Archive, id, parent string) (*Manifest, error) {
	t.Helper()
	w, _, err := a.Begin(t.Context(), request(id, "op-"+id, ""))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Stream(t.Context(), "snapshot.db", bytes.NewReader(pages(100))); err != nil {
		t.Fatal(err)
	}
	return w.Commit(t.Context(), Manifest{Engine: "postgres", Version: "17.5", Parent: parent, Scheduled: true})
}

// TestParent: a backup that adds to another one exists only beside that, and says so in its name.
func TestParent(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		keys, _ := testKeys(t)
		a := Open(s, keys)
		full := mustSave(t, a, "full", pages(100))
		m, err := saveChanges(t, a, "changes", full.Attempt)
		if err != nil {
			t.Fatal(err)
		}
		e := find(t, a, "changes")
		if read, err := a.Manifest(t.Context(), e); err != nil || read.Parent != full.Attempt || e.Parent != full.Attempt {
			t.Errorf("%+v, %v", e, err)
		}
		if _, err := saveChanges(t, a, "more", m.Attempt); !errors.Is(err, ErrNotFound) {
			t.Errorf("it adds to what adds to another: %v", err)
		}
		if err := a.Remove(t.Context(), find(t, a, "full")); !errors.Is(err, ErrNeeded) {
			t.Errorf("the full backup is deleted: %v", err)
		}
		for _, id := range []string{"changes", "full"} {
			if err := a.Remove(t.Context(), find(t, a, id)); err != nil {
				t.Error(err)
			}
		}
		if _, err := saveChanges(t, a, "late", full.Attempt); !errors.Is(err, ErrNotFound) {
			t.Errorf("it adds to a backup that is gone: %v", err)
		}
	})
}

// TestPruneParents: a retention keeps what a kept backup adds to, and deletes what adds to others first.
func TestPruneParents(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		keys, _ := testKeys(t)
		a := Open(s, keys)
		for _, names := range [][2]string{{"full-1", "changes-1"}, {"full-2", "changes-2"}} {
			full := mustSave(t, a, names[0], pages(100))
			if _, err := saveChanges(t, a, names[1], full.Attempt); err != nil {
				t.Fatal(err)
			}
		}
		p, err := a.Plan(t.Context(), scope, Retention{Last: 1})
		if err != nil {
			t.Fatal(err)
		}
		p.Keep("changes-1", "somebody loads it")
		if r, err := a.Prune(t.Context(), p); err != nil || len(r.Deleted) > 0 {
			t.Errorf("%+v, %v", r, err)
		}
		if r := prune(t, a, Retention{Last: 1}); !slices.Equal(r.Deleted, []string{"changes-1", "full-1"}) {
			t.Errorf("%+v", r)
		}
		if got := ids(t, a); !slices.Equal(got, []string{"changes-2", "full-2"}) {
			t.Errorf("left %q", got)
		}
	})
}
