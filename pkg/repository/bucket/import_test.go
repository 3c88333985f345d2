package bucket

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

func importOne(t *testing.T, to, from *Repository, id string) (*archive.Imported, error) {
	t.Helper()
	i, err := to.Importer(t.Context(), from)
	if err != nil {
		return nil, err
	}
	return i.Import(t.Context(), id)
}

// counting is a store that counts how often its manifests are listed.
type counting struct {
	store.Store

	lists int
}

func (s *counting) List(ctx context.Context, prefix, token string) (store.Page, error) {
	if strings.HasPrefix(prefix, "manifests/") {
		s.lists++
	}
	return s.Store.List(ctx, prefix, token)
}

// TestImportListsOnce: both stores are listed once, however many backups are copied, and what came just now counts as
// there.
func TestImportListsOnce(t *testing.T) {
	d, s := described(t)
	dir := t.TempDir()
	if _, err := save(t, inDirectory(t, dir, d, s), "op-1", "content"); err != nil {
		t.Fatal(err)
	}
	to := inDirectory(t, t.TempDir(), d, s)
	from, err := to.Directory(dir)
	if err != nil {
		t.Fatal(err)
	}
	here, there := &counting{Store: to.store}, &counting{Store: from.store}
	to.archive, from.archive = to.archive.In(here), from.archive.In(there)
	i, err := to.Importer(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	for _, unchanged := range []bool{false, true, true} {
		if done, err := i.Import(t.Context(), id); err != nil || done.Unchanged != unchanged {
			t.Errorf("%+v, %v", done, err)
		}
	}
	if here.lists != 1 || there.lists != 1 {
		t.Errorf("%d lists here, %d there", here.lists, there.lists)
	}
}

// TestImport: a repository of another cluster, with other keys, gets a backup once it trusts who signed it, and who has
// the old secret key reads it there.
func TestImport(t *testing.T) {
	d, s := described(t)
	dir := t.TempDir()
	if _, err := save(t, inDirectory(t, dir, d, s), "op-1", "content"); err != nil {
		t.Fatal(err)
	}
	other, secrets := described(t)
	place := t.TempDir()
	to := inDirectory(t, place, other, secrets)
	from, err := to.Directory(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := importOne(t, to, from, id); !errors.Is(err, archive.ErrSignature) ||
		errors.Is(err, repository.ErrDamaged) {
		t.Errorf("a signer that nobody trusts: %v", err)
	}
	other.Trusted = append(other.Trusted, d.Trusted...)
	secrets[FileIdentity] = s[FileIdentity]
	to = inDirectory(t, place, other, secrets)
	if from, err = to.Directory(dir); err != nil {
		t.Fatal(err)
	}
	all, err := from.IDs(t.Context())
	if err != nil || !slices.Equal(all, []string{id}) {
		t.Errorf("%q, %v", all, err)
	}
	for _, unchanged := range []bool{false, true} {
		if done, err := importOne(t, to, from, id); err != nil || done.Unchanged != unchanged {
			t.Errorf("%+v, %v", done, err)
		}
	}
	if _, err := importOne(t, to, from, id+"x"); !errors.Is(err, repository.ErrNotFound) {
		t.Errorf("none of that name: %v", err)
	}
	r, m, err := to.Reader(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if err = errors.Join(err, r.Close()); err != nil || string(got) != "content" || m.Cluster != "my-db" {
		t.Errorf("%q of %s, %v", got, m.Cluster, err)
	}
}
