package archive

import (
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
)

// TestBestProof: the highest signed proof counts, and of those of one level the newest. What a name claims does not.
func TestBestProof(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		keys, _ := testKeys(t)
		a := Open(s, keys)
		m := mustSave(t, a, "b", pages(10))
		best := func() *Proof {
			t.Helper()
			p, err := a.BestProof(t.Context(), find(t, a, "b"))
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		if p := best(); p != nil {
			t.Errorf("nobody proved it: %+v", p)
		}
		began := time.Now()
		for i, p := range []Proof{{Level: LevelIntact, Tool: "v1"}, {Level: LevelIntact, Tool: "v2"},
			{Level: LevelPresent}} {
			a.now = func() time.Time { return began.Add(time.Duration(i) * time.Second) }
			if err := a.AddProof(t.Context(), m, p); err != nil {
				t.Fatal(err)
			}
		}
		if p := best(); p == nil || p.Level != LevelIntact || p.Tool != "v2" || !p.Time.Equal(began.Add(time.Second)) {
			t.Errorf("%+v", p)
		}
		// Somebody without a trusted key claims more.
		others, _ := testKeys(t)
		forger := Open(s, others)
		if err := forger.AddProof(t.Context(), m, Proof{Level: LevelRestorable, Tool: "forged"}); err != nil {
			t.Fatal(err)
		}
		if p := find(t, a, "b").Proof; p.Level != LevelRestorable {
			t.Errorf("the name claims %+v", p)
		}
		if p := best(); p == nil || p.Tool != "v2" {
			t.Errorf("a forged proof counts: %+v", p)
		}
		if n := len(storetest.Keys(t, s, "proofs/")); n != 4 {
			t.Errorf("there are %d proofs", n)
		}
	})
}
