package archive

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
)

func prune(t *testing.T, a *Archive, r Retention) *Result {
	t.Helper()
	p, err := a.Plan(t.Context(), scope, r)
	if err != nil {
		t.Fatal(err)
	}
	result, err := a.Prune(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func ids(t *testing.T, a *Archive) []string {
	t.Helper()
	c, err := a.List(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, e := range c.Entries {
		out = append(out, e.ID)
	}
	return out
}

func TestPrune(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		keys, _ := testKeys(t)
		a := Open(s, keys)
		for i := range 4 {
			m := mustSave(t, a, fmt.Sprintf("b%d", i), pages(100))
			if i == 1 {
				if err := a.AddProof(t.Context(), m, Proof{Level: LevelRestorable, Version: "3.6.1"}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if p := find(t, a, "b1").Proof; p == nil || p.Level != LevelRestorable || time.Since(p.Time) > time.Hour {
			t.Errorf("the proof: %+v", p)
		}
		if r := prune(t, a, Retention{Last: 1}); !slices.Equal(r.Deleted, []string{"b0", "b2"}) {
			t.Errorf("%+v", r)
		}
		if got := ids(t, a); !slices.Equal(got, []string{"b3", "b1"}) {
			t.Errorf("left %q", got)
		}
		if n := len(storetest.Keys(t, s, "data/")); n != 2 {
			t.Errorf("%d volumes are left", n)
		}
		if got := storetest.Keys(t, s, "probe/"); len(got) != 0 {
			t.Errorf("probes are left: %q", got)
		}
	})
}

// TestPruneKilled ends a prune at each request: no backup is visible that lacks its data, and a later
// prune comes to the same end.
func TestPruneKilled(t *testing.T) {
	keys, _ := testKeys(t)
	for n := 1; ; n++ {
		s := directory(t)
		a := Open(s, keys)
		for i := range 3 {
			mustSave(t, a, fmt.Sprintf("b%d", i), pages(100))
		}
		f := &storetest.Fault{Store: s, Before: storetest.FailAt(n)}
		killed := Open(f, keys)
		p, err := killed.Plan(t.Context(), scope, Retention{Last: 1})
		if err == nil {
			_, err = killed.Prune(t.Context(), p)
		}
		if err == nil {
			if n < 10 {
				t.Errorf("a prune takes only %d requests", n)
			}
			return
		}
		for _, id := range ids(t, a) {
			if _, err := load(t, a, id); err != nil {
				t.Fatalf("killed at %d: %s: %v", n, id, err)
			}
		}
		later, err := a.Plan(t.Context(), scope, Retention{Last: 1})
		if err != nil {
			t.Fatal(err)
		}
		later.now = later.now.Add(2 * abandonedAfter)
		if _, err := a.Prune(t.Context(), later); err != nil {
			t.Fatal(err)
		}
		if got := storetest.Keys(t, s, "data/"); len(got) != 1 || len(ids(t, a)) != 1 {
			t.Fatalf("killed at %d: left %q", n, got)
		}
	}
}

// TestPruneAgainstRestore begins a restore at each request of a prune: it ends well, or says at its begin that the
// backup is gone.
func TestPruneAgainstRestore(t *testing.T) {
	keys, _ := testKeys(t)
	held := 0
	for n := 1; ; n++ {
		s := directory(t)
		a := Open(s, keys)
		for i := range 2 {
			mustSave(t, a, fmt.Sprintf("b%d", i), pages(100))
		}
		entry := find(t, a, "b0")
		var m *Manifest
		var refused error
		f := &storetest.Fault{Store: s}
		f.Before = func(c storetest.Call) error {
			if c.Number == n {
				m, _, refused = a.Hold(t.Context(), entry, time.Hour, "restore")
			}
			return nil
		}
		prune(t, Open(f, keys), Retention{Last: 1})
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
		r, err := a.Read(t.Context(), m, "snapshot.db")
		if err == nil {
			_, err = io.Copy(io.Discard, r)
		}
		if err != nil {
			t.Fatalf("at %d: a held backup is gone: %v", n, err)
		}
	}
	if held < 3 {
		t.Errorf("only %d restores began", held)
	}
}

// TestCollect leaves an attempt behind and one under way.
func TestCollect(t *testing.T) {
	keys, _ := testKeys(t)
	s := directory(t)
	a := Open(s, keys)
	mustSave(t, a, "whole", pages(100))
	w, _, err := a.Begin(t.Context(), request("half", "op-half", "file"))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Stream(t.Context(), "snapshot.db", strings.NewReader("half of it")); err != nil {
		t.Fatal(err)
	}
	if r := prune(t, a, Retention{}); r.Collected != 0 {
		t.Errorf("an attempt under way was collected: %+v", r)
	}
	p, err := a.Plan(t.Context(), scope, Retention{})
	if err != nil {
		t.Fatal(err)
	}
	p.now = p.now.Add(2 * abandonedAfter)
	if r, err := a.Prune(t.Context(), p); err != nil || r.Collected != 3 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := w.Commit(t.Context(), Manifest{Engine: "etcd"}); !errors.Is(err, ErrDamaged) {
		t.Errorf("a commit after its data was collected: %v", err)
	}
	if _, err := load(t, a, "whole"); err != nil {
		t.Error(err)
	}
}

// TestRetained holds that what the store keeps stays a backup.
func TestRetained(t *testing.T) {
	keys, _ := testKeys(t)
	s := directory(t)
	f := &storetest.Fault{Store: s, Before: func(c storetest.Call) error {
		if c.Name == "delete" && strings.HasPrefix(c.Key, kindManifest) {
			return store.ErrRetained
		}
		return nil
	}}
	a := Open(f, keys)
	for i := range 2 {
		mustSave(t, a, fmt.Sprintf("b%d", i), pages(100))
	}
	if r := prune(t, a, Retention{Last: 1}); len(r.Deleted) != 0 || !slices.Equal(r.Retained, []string{"b0"}) {
		t.Errorf("%+v", r)
	}
	if _, err := load(t, a, "b0"); err != nil {
		t.Error(err)
	}
}

// TestRetainedParents: the store retains a backup that adds to another, so that one stays as well.
func TestRetainedParents(t *testing.T) {
	keys, _ := testKeys(t)
	s := directory(t)
	f := &storetest.Fault{Store: s}
	a := Open(f, keys)
	full := mustSave(t, a, "full", pages(100))
	if _, err := saveChanges(t, a, "changes", full.Attempt); err != nil {
		t.Fatal(err)
	}
	mustSave(t, a, "other", pages(100))
	mustSave(t, a, "newest", pages(100))
	retained := find(t, a, "changes").Key
	f.Before = func(c storetest.Call) error {
		if c.Name == "delete" && c.Key == retained {
			return store.ErrRetained
		}
		return nil
	}
	want := &Result{Deleted: []string{"other"}, Retained: []string{"changes", "full"}}
	if d := cmp.Diff(want, prune(t, a, Retention{Last: 1})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, id := range []string{"full", "changes"} {
		if _, err := load(t, a, id); err != nil {
			t.Error(err)
		}
	}
}
