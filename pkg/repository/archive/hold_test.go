package archive

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
)

func TestHold(t *testing.T) {
	keys, _ := testKeys(t)
	s := directory(t)
	a := Open(s, keys)
	for i := range 2 {
		mustSave(t, a, fmt.Sprintf("b%d", i), pages(100))
	}
	_, h, err := a.Hold(t.Context(), find(t, a, "b0"), time.Hour, "restore of my-db")
	if err != nil {
		t.Fatal(err)
	}
	if r := prune(t, a, Retention{Last: 1}); len(r.Deleted) != 0 {
		t.Errorf("a held backup was pruned: %+v", r)
	}
	if err := a.Remove(t.Context(), find(t, a, "b0")); err == nil {
		t.Error("a held backup was removed")
	}
	for range 2 {
		if err := a.Release(t.Context(), h); err != nil {
			t.Error(err)
		}
	}
	if r := prune(t, a, Retention{Last: 1}); !slices.Equal(r.Deleted, []string{"b0"}) {
		t.Errorf("%+v", r)
	}
	if _, _, err := a.Hold(t.Context(), Entry{Scope: scope, ID: "b0", Attempt: h.Attempt, Key: "manifests/none"},
		time.Hour, "late"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	if got := storetest.Keys(t, s, "holds/"); len(got) != 0 {
		t.Errorf("holds are left: %q", got)
	}
}

// TestHoldByAWrongClock: a hold lasts by the store's clock, whatever that of the machine says that puts it.
func TestHoldByAWrongClock(t *testing.T) {
	keys, _ := testKeys(t)
	for _, c := range []struct{ off, lasts time.Duration }{
		{-24 * time.Hour, time.Hour}, {24 * time.Hour, time.Hour}, {-5 * time.Minute, time.Hour},
		{-9 * time.Minute, 2 * time.Minute},
	} {
		s := directory(t)
		a := Open(s, keys)
		for i := range 2 {
			mustSave(t, a, fmt.Sprintf("b%d", i), pages(100))
		}
		wrong := Open(s, keys)
		wrong.now = func() time.Time { return time.Now().Add(c.off) }
		began := time.Now()
		_, h, err := wrong.Hold(t.Context(), find(t, a, "b0"), c.lasts, "restore")
		if err != nil {
			t.Fatal(err)
		}
		if least := began.Add(c.lasts - min(clockMargin, c.lasts/2) - time.Second); find(t, a, "b0").HeldUntil.Before(least) {
			t.Errorf("%v: it is held until %v", c, find(t, a, "b0").HeldUntil)
		}
		if r := prune(t, a, Retention{Last: 1}); len(r.Deleted) != 0 {
			t.Errorf("%v: a held backup was pruned: %+v", c, r)
		}
		if got := storetest.Keys(t, s, "holds/"); len(got) != 1 || got[0] != h.key {
			t.Errorf("%v: there are %q", c, got)
		}
		if err := wrong.Release(t.Context(), h); err != nil {
			t.Fatal(err)
		}
		if r := prune(t, a, Retention{Last: 1}); !slices.Equal(r.Deleted, []string{"b0"}) {
			t.Errorf("%v: %+v", c, r)
		}
	}
}
