package archive

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
)

func importOne(t *testing.T, to, from *Archive, e Entry) (*Imported, error) {
	t.Helper()
	i, err := to.Importer(t.Context(), from)
	if err != nil {
		return nil, err
	}
	return i.Import(t.Context(), e)
}

// TestImport copies a backup to another store: it is the same there, byte for byte, and a repeat changes nothing.
func TestImport(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		keys, _ := testKeys(t)
		from, to := Open(directory(t), keys), Open(s, keys)
		body := pages(5 << 20)
		mustSave(t, from, "b1", body)
		e := find(t, from, "b1")
		first, err := importOne(t, to, from, e)
		if err != nil || first.Unchanged || first.Volumes < 2 || first.Bytes != e.Bytes {
			t.Fatalf("%+v, %v", first, err)
		}
		if got, err := load(t, to, "b1"); err != nil || !bytes.Equal(got, body) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		if d := cmp.Diff(contents(t, from.store), contents(t, s)); d != "" {
			t.Errorf("the objects differ (-from +to):\n%s", d)
		}
		again, err := importOne(t, to, from, e)
		if err != nil || !again.Unchanged || again.Volumes != 0 {
			t.Errorf("again: %+v, %v", again, err)
		}
	})
}

func contents(t *testing.T, s store.Store) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, key := range storetest.Keys(t, s, "") {
		out[key] = storetest.Content(t, s, key)
	}
	return out
}

// TestImportKilled ends an import at each request, before it arrives or before it is answered: there is no backup
// before all of it is there, and a repeat sends no volume twice.
func TestImportKilled(t *testing.T) {
	keys, _ := testKeys(t)
	from := Open(directory(t), keys)
	m := mustSave(t, from, "b1", pages(5<<20))
	e, volumes := find(t, from, "b1"), len(m.Streams[0].Volumes)
	for n := 1; ; n++ {
		for _, lost := range []bool{false, true} {
			s := directory(t)
			fault := &storetest.Fault{Store: s, Before: storetest.FailAt(n)}
			if lost {
				fault.Before, fault.After = nil, storetest.FailAt(n)
			}
			_, err := importOne(t, Open(fault, keys), from, e)
			if err == nil {
				if fault.Calls() >= n {
					t.Fatalf("request %d failed, and the import did not", n)
				}
				return
			}
			to := Open(s, keys)
			if len(ids(t, to)) > 0 && to.Verify(t.Context(), m, LevelIntact) != nil {
				t.Fatalf("request %d, lost %v: a backup without its data", n, lost)
			}
			there := len(storetest.Keys(t, s, "data/"))
			done, err := importOne(t, to, from, e)
			if err != nil || done.Volumes != volumes-there {
				t.Fatalf("request %d, lost %v: %+v of %d, %d were there, %v", n, lost, done, volumes, there, err)
			}
			if err := to.Verify(t.Context(), m, LevelIntact); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestImportRefuses: nothing that is damaged, forged or in the way makes a backup.
func TestImportRefuses(t *testing.T) {
	keys, _ := testKeys(t)
	others, _ := testKeys(t)
	for name, row := range map[string]struct {
		arrange func(t *testing.T, from, to store.Store, key string)
		keys    Keys
		want    error
	}{
		"a flipped byte": {func(t *testing.T, from, _ store.Store, key string) {
			body := []byte(storetest.Content(t, from, key))
			body[len(body)/2] ^= 1
			replace(t, from, key, body)
		}, keys, ErrDamaged},
		"a volume is cut": {func(t *testing.T, from, _ store.Store, key string) {
			replace(t, from, key, []byte(storetest.Content(t, from, key))[1:])
		}, keys, ErrDamaged},
		"a volume is missing": {func(t *testing.T, from, _ store.Store, key string) {
			if err := from.Delete(t.Context(), key); err != nil {
				t.Fatal(err)
			}
		}, keys, ErrDamaged},
		"another one has the identifier": {func(t *testing.T, _, to store.Store, _ string) {
			mustSave(t, Open(to, keys), "b1", pages(100))
		}, keys, ErrExists},
		"something is in its place": {func(t *testing.T, _, to store.Store, key string) {
			storetest.Put(t, to, key, "other")
		}, keys, ErrExists},
		"its signer is not trusted here": {func(*testing.T, store.Store, store.Store, string) {}, others, ErrSignature},
	} {
		t.Run(name, func(t *testing.T) {
			from, to := directory(t), directory(t)
			source := Open(from, keys)
			mustSave(t, source, "b1", pages(3<<20))
			volumes := storetest.Keys(t, from, "data/")
			row.arrange(t, from, to, volumes[len(volumes)-1])
			before := storetest.Keys(t, to, "manifests/")
			_, err := importOne(t, Open(to, row.keys), source, find(t, source, "b1"))
			if !errors.Is(err, row.want) && !errors.Is(err, store.ErrExists) ||
				errors.Is(row.want, ErrExists) != (errors.Is(err, ErrExists) || errors.Is(err, store.ErrExists)) {
				t.Errorf("%v, want %v", err, row.want)
			}
			if got := storetest.Keys(t, to, "manifests/"); !slices.Equal(got, before) {
				t.Errorf("manifests: %q", got)
			}
			if name == "its signer is not trusted here" && !strings.Contains(fmt.Sprint(err), `"test"`) {
				t.Errorf("it names no key: %v", err)
			}
		})
	}
}
