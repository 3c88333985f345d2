package archive

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
)

// logged is an archive whose log has segments of a timeline, and one file of another.
func logged(t *testing.T, keys Keys, segments int) *Archive {
	t.Helper()
	a := Open(directory(t), keys)
	l := a.Log(scope, "1")
	for n := range segments {
		if err := l.Append(t.Context(), numbered(n), fmt.Append(nil, "segment ", n)); err != nil {
			t.Fatal(err)
		}
	}
	history := numbered(0)
	history.Timeline, history.Name = "history", "00000002.history"
	if err := l.Append(t.Context(), history, []byte("1\t0/5")); err != nil {
		t.Fatal(err)
	}
	return a
}

func starts(n int) []LogStart { return []LogStart{{Timeline: "1", Segment: numbered(n).Name}} }

// TestImportLog copies what goes on from a backup, with and without the secret key, and a repeat copies what is new.
func TestImportLog(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		keys, _ := testKeys(t)
		from := logged(t, keys, 8)
		blind := keys
		blind.Identities = nil
		to := Open(s, blind)
		first, err := to.ImportLog(t.Context(), from, scope, "1", starts(3))
		if err != nil || first.Segments != 6 || first.Bytes == 0 {
			t.Fatalf("%+v, %v", first, err)
		}
		if err := from.Log(scope, "1").Append(t.Context(), numbered(8), []byte("segment 8")); err != nil {
			t.Fatal(err)
		}
		to = Open(s, keys)
		if again, err := to.ImportLog(t.Context(), from, scope, "1", starts(3)); err != nil || again.Segments != 1 {
			t.Errorf("again: %+v, %v", again, err)
		}
		all, err := to.Log(scope, "1").Segments(t.Context())
		if err != nil || len(all) != 7 {
			t.Fatalf("%d segments, %v", len(all), err)
		}
		got, err := to.Log(scope, "1").Read(t.Context(), all[5])
		if err != nil || string(got) != "segment 8" {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// TestImportLogRefused: what nobody here trusts, what is damaged, and what has the name of other content is not copied.
func TestImportLogRefused(t *testing.T) {
	keys, _ := testKeys(t)
	others, _ := testKeys(t)
	readable := keys
	readable.Trusted = others.Trusted
	for name, c := range map[string]struct {
		keys   Keys
		change func(from, to *Archive) error
		want   error
	}{
		"signed by a key that is not trusted": {readable, func(*Archive, *Archive) error { return nil }, ErrSignature},
		"damaged": {keys, func(from, _ *Archive) error {
			all, err := from.Log(scope, "1").Segments(t.Context())
			if err != nil {
				return err
			}
			at := slices.IndexFunc(all, func(s Segment) bool { return s.Name == numbered(2).Name })
			err = from.store.Delete(t.Context(), all[at].key)
			return errors.Join(err, from.store.Put(t.Context(), all[at].key, []byte("cut"), store.Options{}))
		}, ErrDamaged},
		"another history": {keys, func(_, to *Archive) error {
			return to.Log(scope, "1").Append(t.Context(), numbered(2), []byte("other"))
		}, ErrConflict},
	} {
		from, to := logged(t, keys, 4), Open(directory(t), c.keys)
		if err := c.change(from, Open(to.store, keys)); err != nil {
			t.Fatal(err)
		}
		if _, err := to.ImportLog(t.Context(), from, scope, "1", starts(0)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestImportLogKilled ends an import at each request: what is there is whole, and a repeat brings the rest.
func TestImportLogKilled(t *testing.T) {
	keys, _ := testKeys(t)
	from := logged(t, keys, 4)
	for n := 1; ; n++ {
		s := directory(t)
		fault := &storetest.Fault{Store: s, After: storetest.FailAt(n)}
		_, err := Open(fault, keys).ImportLog(t.Context(), from, scope, "1", starts(0))
		if err == nil {
			if fault.Calls() >= n {
				t.Fatalf("request %d failed, and the import did not", n)
			}
			return
		}
		to := Open(s, keys)
		if _, err := to.ImportLog(t.Context(), from, scope, "1", starts(0)); err != nil {
			t.Fatalf("request %d: %v", n, err)
		}
		all, err := to.Log(scope, "1").Segments(t.Context())
		if err != nil || len(all) != 5 {
			t.Fatalf("request %d: %d segments, %v", n, len(all), err)
		}
		for _, s := range all {
			if _, err := to.Log(scope, "1").Read(t.Context(), s); err != nil {
				t.Errorf("request %d: %v", n, err)
			}
		}
	}
}
