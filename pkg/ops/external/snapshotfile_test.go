package external

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/runner"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

var importedAt = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func openedFile(t *testing.T, path string) *SnapshotFile {
	t.Helper()
	if err := os.WriteFile(path, []byte("snapshot 3.5.0"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, importedAt, importedAt.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	s, err := OpenSnapshotFile([]engine.Engine{opstest.Engine{}}, path, "")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func unreported(int64, int64) {}

// TestImport: one file is one backup, whatever its name and time.
func TestImport(t *testing.T) {
	t.Parallel()
	repo, err := repository.NewDirectory(filepath.Join(t.TempDir(), "backups"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "snapshot.db")
	s := openedFile(t, path)
	find := func(s *SnapshotFile, cluster string) (repository.Manifest, bool) {
		t.Helper()
		m, stored, err := s.Find(t.Context(), repo, cluster, "shop", "v1", importedAt)
		if err != nil {
			t.Fatal(err)
		}
		return m, stored
	}
	m, stored := find(s, "my-db")
	if stored || !strings.HasPrefix(m.ID, "my-db-20261121T110000Z-") || m.Version != "3.5.0" {
		t.Errorf("found %+v, stored %v", m, stored)
	}
	// An import that was cut off is replaced by its repeat.
	ended, end := context.WithCancel(t.Context())
	if _, err := s.Import(ended, repo, m, func(int64, int64) { end() }); err == nil {
		t.Fatal("an import that was cut off made a backup")
	}
	if again, stored := find(s, "my-db"); stored || again.ID != m.ID {
		t.Errorf("found %+v, stored %v", again, stored)
	}
	made, err := s.Import(t.Context(), repo, m, unreported)
	if err != nil || made.SHA256 != m.SHA256 || made.Bytes != 14 || made.Facts.Reading("revision") != "42" {
		t.Fatalf("made %+v, %v", made, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	other := openedFile(t, filepath.Join(t.TempDir(), "other.db"))
	if have, stored := find(other, "copy"); !stored || have.ID != m.ID {
		t.Errorf("the same file again: %+v, stored %v", have, stored)
	}
	data, _, err := repo.Reader(t.Context(), m.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = data.Close() }()
	if content, err := io.ReadAll(data); err != nil || string(content) != "snapshot 3.5.0" {
		t.Errorf("holds %q, %v", content, err)
	}
}

// TestImportOfAChangedFile: what was observed is what is imported.
func TestImportOfAChangedFile(t *testing.T) {
	t.Parallel()
	repo, err := repository.NewDirectory(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "snapshot.db")
	s := openedFile(t, path)
	m, _, err := s.Find(t.Context(), repo, "my-db", "shop", "v1", importedAt)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("snapshot 3.6.0"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Import(t.Context(), repo, m, unreported); ops.KindOf(err) != ops.Failed ||
		!strings.Contains(err.Error(), "changed") {
		t.Errorf("got %v", err)
	}
	if _, err := repo.Get(t.Context(), m.ID); !errors.Is(err, repository.ErrNotFound) {
		t.Errorf("it made a backup: %v", err)
	}
}

// rehearsing notes which steps are judged.
type rehearsing struct {
	ops.Cluster
	judged []ops.Action
}

func (r *rehearsing) Rehearse(_ context.Context, _ ops.State, step ops.Step) error {
	r.judged = append(r.judged, step.Action)
	return nil
}

// TestRehearseBeforeImport: a backup that is not imported yet can't be searched for.
func TestRehearseBeforeImport(t *testing.T) {
	t.Parallel()
	steps := []ops.Step{{Action: ops.ActionServices}, {Action: ops.ActionLoad}}
	for _, c := range []struct {
		first *ops.Step
		want  []ops.Action
	}{
		{nil, []ops.Action{ops.ActionServices, ops.ActionLoad}},
		{&ops.Step{ID: "import/x"}, []ops.Action{ops.ActionServices}},
	} {
		w := &rehearsing{}
		p := &planner.Prepared{Request: planner.Request{Import: c.first}, Plan: ops.Plan{Steps: steps}}
		if err := runner.Rehearse(t.Context(), p, w); err != nil || !slices.Equal(w.judged, c.want) {
			t.Errorf("judged %v, %v, want %v", w.judged, err, c.want)
		}
	}
}
