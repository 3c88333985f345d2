package repository_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/helper"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

const (
	changesID = "db-20261122T101500Z-0a1b"
	otherID   = "db-20261123T101500Z-0a1b"
)

// putChanges writes a backup that adds to another one.
func putChanges(t *testing.T, repo repository.Repository, id, parent, content string) error {
	t.Helper()
	w, err := repo.Writer(t.Context(), id, "op-2")
	if err != nil {
		return err
	}
	if _, err := io.WriteString(w, content); err != nil {
		return errors.Join(err, w.Abort())
	}
	_, err = w.Commit(t.Context(), repository.Manifest{Engine: "etcd", Cluster: "db", Version: "3.6.1", Parent: parent,
		StartedAt: began.Add(time.Hour)}, open)
	return err
}

// TestWhole: a restore of a backup that adds to another reads both, and the other one stays as long as it.
func TestWhole(t *testing.T) {
	both(t, func(t *testing.T, repo repository.Repository, root string) {
		full := mustPut(t, repo, id, noise(100_000))
		if err := repository.HoldFull(t.Context(), repo, id, time.Hour); err != nil {
			t.Error(err)
		}
		if err := putChanges(t, repo, changesID, id, "changes of it"); err != nil {
			t.Fatal(err)
		}
		in, size, sum, err := repository.Whole(t.Context(), repo, changesID)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(in)
		want := append([]byte("changes of it"), noise(100_000)...)
		if err := errors.Join(err, in.Close()); err != nil || !bytes.Equal(got, want) || size != int64(len(want)) ||
			sum != "" {
			t.Errorf("%d bytes of %d, sum %q, %v", len(got), size, sum, err)
		}
		m, err := repo.Get(t.Context(), changesID)
		if n, err2 := repository.WholeBytes(t.Context(), repo, m); err != nil || err2 != nil || n != size || m.Parent != id {
			t.Errorf("%d bytes, parent %q, %v, %v", n, m.Parent, err, err2)
		}
		in, size, sum, err = repository.Whole(t.Context(), repo, id)
		if err != nil || size != full.Bytes || sum != full.SHA256 || in.Close() != nil {
			t.Errorf("the full one has %d bytes, sum %q, %v", size, sum, err)
		}
		if err := repository.HoldFull(t.Context(), repo, changesID, time.Hour); err == nil ||
			!strings.Contains(err.Error(), "it is no full backup itself") {
			t.Errorf("adding to changes: %v", err)
		}
		if err := repo.Delete(t.Context(), id); !errors.Is(err, repository.ErrNeeded) {
			t.Errorf("a backup that another adds to is deleted: %v", err)
		}
		if _, err := repo.Get(t.Context(), id); err != nil {
			t.Error(err)
		}
		damage(t, filepath.Join(root, id+".snapshot"))
		in, _, _, err = repository.Whole(t.Context(), repo, changesID)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(in); !errors.Is(err, repository.ErrDamaged) || in.Close() != nil {
			t.Errorf("the full one is damaged: %v", err)
		}
		for _, id := range []string{changesID, id} {
			if err := repo.Delete(t.Context(), id); err != nil {
				t.Errorf("%s: %v", id, err)
			}
		}
	})
}

// damage changes one byte.
func damage(t *testing.T, path string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err == nil {
		raw[len(raw)/2] ^= 1
		err = os.WriteFile(path, raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestWholeRefuses: changes are no backup without the full one that they add to.
func TestWholeRefuses(t *testing.T) {
	both(t, func(t *testing.T, repo repository.Repository, root string) {
		mustPut(t, repo, id, noise(100))
		if err := putChanges(t, repo, changesID, "", "changes of nothing"); err == nil ||
			!strings.Contains(err.Error(), "it holds only what changed") {
			t.Errorf("without a parent: %v", err)
		}
		if err := putChanges(t, repo, changesID, id, "all"); err == nil || !strings.Contains(err.Error(), "holds all") {
			t.Errorf("a full one with a parent: %v", err)
		}
		if err := putChanges(t, repo, changesID, otherID, "changes of it"); !errors.Is(err, repository.ErrNotFound) {
			t.Errorf("a parent that is not there: %v", err)
		}
		if err := putChanges(t, repo, changesID, "../x", "changes of it"); !errors.Is(err, repository.ErrID) {
			t.Errorf("a parent that is no name: %v", err)
		}
		if err := putChanges(t, repo, changesID, id, "changes of it"); err != nil {
			t.Fatal(err)
		}
		if err := putChanges(t, repo, otherID, changesID, "changes of changes"); err == nil ||
			!strings.Contains(err.Error(), "it is no full one") {
			t.Errorf("a parent that is no full one: %v", err)
		}
		if err := os.Remove(filepath.Join(root, id+".json")); err != nil {
			t.Fatal(err)
		}
		if _, _, _, err := repository.Whole(t.Context(), repo, changesID); !errors.Is(err, repository.ErrNotFound) {
			t.Errorf("its parent is gone: %v", err)
		}
	})
}

// TestAdds: the full backup is one that is there, and what is in the file decides.
func TestAdds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		parent      string
		incremental bool
		fine        bool
	}{"full": {"", false, true}, "changes": {id, true, true}, "changes alone": {"", true, false},
		"full with a parent": {id, false, false}} {
		err := repository.Manifest{Parent: c.parent}.Adds(engine.SnapshotFacts{Incremental: c.incremental})
		if (err == nil) != c.fine {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFetchWhole loads a backup that adds to another: the command gets both in one file.
func TestFetchWhole(t *testing.T) {
	both(t, func(t *testing.T, repo repository.Repository, _ string) {
		mustPut(t, repo, id, []byte(" and the full one"))
		if err := putChanges(t, repo, changesID, id, "changes"); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		o := helper.LoadOptions{Into: filepath.Join(dir, "data"), Staging: filepath.Join(dir, "staging"), Operation: "op",
			Command: []string{"sh", "-c", "mkdir {out} && cp {file} {out}/file"}, Margin: 1}
		if err := o.Fetch(t.Context(), repo, changesID, ""); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(dir, "data", "file"))
		if string(got) != "changes and the full one" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
}
