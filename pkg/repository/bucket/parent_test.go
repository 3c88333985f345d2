package bucket

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
)

const changesID = "my-db-20261124T101500Z-0a1b"

// saveChanges writes a backup that adds to another one.
func saveChanges(t *testing.T, r *Repository, parent string) error {
	t.Helper()
	w, err := r.Writer(t.Context(), changesID, "op-2")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Abort() }()
	if _, err := io.WriteString(w, "changes, "); err != nil {
		t.Fatal(err)
	}
	m := manifest()
	m.Parent = parent
	_, err = w.Commit(t.Context(), m, func(path string) (engine.SnapshotFacts, error) {
		facts, err := opened(path)
		facts.Incremental = true
		return facts, err
	})
	return err
}

// TestParent: a backup that adds to another one is read with it, held with it and proven with it, and brings it along.
func TestParent(t *testing.T) {
	dir := t.TempDir()
	d, s := described(t)
	r := inDirectory(t, dir, d, s)
	if err := saveChanges(t, r, id); !errors.Is(err, repository.ErrNotFound) {
		t.Errorf("it adds to nothing: %v", err)
	}
	if _, err := save(t, r, "op-1", "all"); err != nil {
		t.Fatal(err)
	}
	if err := saveChanges(t, r, ""); err == nil {
		t.Error("changes are a full backup")
	}
	if err := saveChanges(t, r, id); err != nil {
		t.Fatal(err)
	}
	got, err := r.Get(t.Context(), changesID)
	all, err2 := r.List(t.Context(), "my-db")
	if err = errors.Join(err, err2); err != nil || got.Parent != id || len(all) != 2 || all[0].Parent != id ||
		all[1].Parent != "" {
		t.Errorf("%+v, %+v, %v", got, all, err)
	}
	in, _, _, err := repository.Whole(t.Context(), r, changesID)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(in); string(body) != "changes, all" || err != nil || in.Close() != nil {
		t.Errorf("%q, %v", body, err)
	}
	by := repository.Proof{Verification: repository.Verification{Tool: "v1"}}
	if err := r.Prove(t.Context(), changesID, by); err != nil {
		t.Fatal(err)
	}
	if full, err := r.Get(t.Context(), id); err != nil || full.Proof != "intact" {
		t.Errorf("the full backup is proven %q, %v", full.Proof, err)
	}
	if err := r.Hold(t.Context(), changesID, time.Hour, "test"); err != nil {
		t.Fatal(err)
	}
	c, err := r.Archive().List(t.Context(), archive.Scope{})
	if err != nil || c.Entries[0].HeldUntil.IsZero() || c.Entries[1].HeldUntil.IsZero() {
		t.Errorf("%+v, %v", c, err)
	}
	if err := r.Delete(t.Context(), id); err == nil {
		t.Error("the full backup is deleted")
	}

	to := inDirectory(t, t.TempDir(), d, s)
	from, err := to.Directory(dir)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := from.WithParents(t.Context(), []string{changesID})
	if err != nil || !slices.Equal(ids, []string{id, changesID}) {
		t.Errorf("%q, %v", ids, err)
	}
	if ids, err = from.WithParents(t.Context(), []string{id, changesID, "other"}); err != nil ||
		!slices.Equal(ids, []string{id, changesID, "other"}) {
		t.Errorf("%q, %v", ids, err)
	}
	if _, err := importOne(t, to, from, changesID); !errors.Is(err, repository.ErrNotFound) {
		t.Errorf("changes come without what they add to: %v", err)
	}
	for _, one := range []string{id, changesID} {
		if _, err := importOne(t, to, from, one); err != nil {
			t.Error(err)
		}
	}

	if err := r.Present(t.Context(), changesID); err != nil {
		t.Error(err)
	}
	full, err := r.find(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "data", "shop", "my-db", full.Attempt)); err != nil {
		t.Fatal(err)
	}
	if err := r.Present(t.Context(), changesID); !errors.Is(err, repository.ErrDamaged) {
		t.Errorf("the data of the full backup is gone: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, full.Key)); err != nil {
		t.Fatal(err)
	}
	if all, err = r.List(t.Context(), "my-db"); err != nil || len(all) != 1 || all[0].Parent == "" {
		t.Errorf("%+v, %v", all, err)
	}
	if err := r.Present(t.Context(), changesID); !errors.Is(err, repository.ErrNotFound) {
		t.Errorf("the full backup is gone: %v", err)
	}
}
