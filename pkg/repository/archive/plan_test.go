package archive

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
)

func TestWrongClock(t *testing.T) {
	keys, _ := testKeys(t)
	a := Open(directory(t), keys)
	for _, off := range []time.Duration{24 * time.Hour, -24 * time.Hour} {
		a.now = func() time.Time { return time.Now().Add(off) }
		if _, err := a.Plan(t.Context(), scope, Retention{Last: 1}); !errors.Is(err, ErrClock) {
			t.Errorf("%v: %v", off, err)
		}
	}
}

// TestForgedManifestsDeleteNothing puts names of newer backups into the store, which are a reason to delete the
// real ones for who believes them.
func TestForgedManifestsDeleteNothing(t *testing.T) {
	keys, _ := testKeys(t)
	s := directory(t)
	a := Open(s, keys)
	for i := range 2 {
		mustSave(t, a, fmt.Sprintf("b%d", i), pages(100))
	}
	key := find(t, a, "b1").Key
	for i := range 3 {
		forged := strings.Replace(key, "/01", fmt.Sprintf("/0%d", i+2), 1)
		storetest.Put(t, s, forged, "nobody signed this")
	}
	p, err := a.Plan(t.Context(), scope, Retention{Last: 2})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Unsigned) != 3 {
		t.Errorf("unsigned: %+v", p.Unsigned)
	}
	if r, err := a.Prune(t.Context(), p); err != nil || len(r.Deleted) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	for _, id := range []string{"b0", "b1"} {
		if !slices.Contains(ids(t, a), id) {
			t.Errorf("%s is gone", id)
		}
	}
}

// TestUnsignedParents: a key that is not trusted here signed a backup that adds to another.
func TestUnsignedParents(t *testing.T) {
	keys, _ := testKeys(t)
	others, _ := testKeys(t)
	s := directory(t)
	a := Open(s, keys)
	full := mustSave(t, a, "full", pages(100))
	if _, err := saveChanges(t, Open(s, others), "changes", full.Attempt); err != nil {
		t.Fatal(err)
	}
	mustSave(t, a, "newest", pages(100))
	if r := prune(t, a, Retention{Last: 1}); len(r.Deleted) != 0 {
		t.Errorf("deleted %q", r.Deleted)
	}
	if _, err := load(t, a, "full"); err != nil {
		t.Error(err)
	}
}
