package bucket

import (
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
)

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
	if _, err := to.Import(t.Context(), from, id); !errors.Is(err, archive.ErrSignature) ||
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
		if done, err := to.Import(t.Context(), from, id); err != nil || done.Unchanged != unchanged {
			t.Errorf("%+v, %v", done, err)
		}
	}
	if _, err := to.Import(t.Context(), from, id+"x"); !errors.Is(err, repository.ErrNotFound) {
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
