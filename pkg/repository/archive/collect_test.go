package archive

import (
	"slices"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
)

// TestCollectRetained: what the store retains of a backup that is gone goes with a later prune, and so does what trials
// of the store left.
func TestCollectRetained(t *testing.T) {
	keys, _ := testKeys(t)
	s := directory(t)
	a := Open(s, keys)
	m := mustSave(t, a, "b0", pages(100))
	for range 2 {
		if err := a.AddProof(t.Context(), m, Proof{Level: LevelIntact}); err != nil {
			t.Fatal(err)
		}
	}
	first := storetest.Keys(t, s, kindProof)[0]
	mustSave(t, a, "b1", pages(100))
	storetest.Put(t, s, store.Trials+"clock-1", "left")
	some := Open(keeping(keeping(s, kindData), first), keys)
	if r := prune(t, some, Retention{Last: 1}); !slices.Equal(r.Deleted, []string{"b0"}) {
		t.Errorf("%+v", r)
	}
	if data, left := storetest.Keys(t, s, kindData), storetest.Keys(t, s, kindProof); len(data) != 2 || len(left) != 1 {
		t.Errorf("volumes %q, proofs %q", data, left)
	}
	for _, c := range []struct {
		at   store.Store
		left int
	}{{keeping(s, ""), 1}, {s, 0}} {
		later := Open(c.at, keys)
		p, err := later.Plan(t.Context(), scope, Retention{})
		if err != nil {
			t.Fatal(err)
		}
		if r := prune(t, later, Retention{}); r.Collected != 0 || len(storetest.Keys(t, s, store.Trials+"clock-1")) != 1 {
			t.Errorf("it collected within a day: %+v", r)
		}
		p.now = p.now.Add(2 * abandonedAfter)
		if r, err := later.Prune(t.Context(), p); err != nil || r.Collected != 2*(1-c.left) {
			t.Errorf("%+v, %v", r, err)
		}
		trial, proof := storetest.Keys(t, s, store.Trials+"clock-1"), storetest.Keys(t, s, kindProof)
		if len(trial) != c.left || len(proof) != c.left {
			t.Errorf("left %q and %q", trial, proof)
		}
	}
	if _, err := load(t, a, "b1"); err != nil {
		t.Error(err)
	}
}
