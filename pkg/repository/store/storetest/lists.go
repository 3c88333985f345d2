package storetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
)

func list(t *testing.T, s store.Store) {
	// The order of keys is not that of paths: "-" is before "/", and "0" is behind it.
	want := []string{"a-b/1", "a/1", "a/2/3", "a/2-x", "a0", "b/1", "b/A_n-1.e-x!2c.json"}
	for i := range want {
		Put(t, s, want[len(want)-1-i], "x")
	}
	sorted := []string{"a-b/1", "a/1", "a/2-x", "a/2/3", "a0", "b/1", "b/A_n-1.e-x!2c.json"}
	if d := cmp.Diff(sorted, Keys(t, s, "")); d != "" {
		t.Errorf("all (-want +got):\n%s", d)
	}
	for prefix, want := range map[string][]string{
		"a/":   {"a/1", "a/2-x", "a/2/3"},
		"a":    {"a-b/1", "a/1", "a/2-x", "a/2/3", "a0"},
		"a/2":  {"a/2-x", "a/2/3"},
		"a/2/": {"a/2/3"},
		"b/1":  {"b/1"},
		"c":    {},
	} {
		if d := cmp.Diff(want, Keys(t, s, prefix)); d != "" {
			t.Errorf("under %q (-want +got):\n%s", prefix, d)
		}
	}
	before := time.Now().Add(-time.Hour)
	page, err := s.List(t.Context(), "a0", "")
	if err != nil || len(page.Objects) != 1 || page.Objects[0].Size != 1 || page.Objects[0].Modified.Before(before) {
		t.Errorf("%+v, %v", page, err)
	}
	if o, err := s.Head(t.Context(), "a0"); err != nil || o.Size != 1 || o.Key != "a0" || o.Modified.Before(before) {
		t.Errorf("%+v, %v", o, err)
	}
}

func listPages(t *testing.T, s store.Store) {
	var group sync.WaitGroup
	want := make([]string, 1100)
	for worker := range 8 {
		group.Go(func() {
			for i := worker; i < len(want); i += 8 {
				want[i] = fmt.Sprintf("p/%d/%04d", i/400, i)
				if err := s.Put(t.Context(), want[i], []byte("x"), store.Options{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if d := cmp.Diff(want, Keys(t, s, "p/")); d != "" {
		t.Errorf("listed (-want +got):\n%s", d)
	}
	first, err := s.List(t.Context(), "p/", "")
	if err != nil || len(first.Objects) != 1000 || first.Next == "" {
		t.Errorf("the first page has %d objects, %v", len(first.Objects), err)
	}
}
