package archive

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
)

// provenOldest stores so many backups, b0 first, and proves that one to be restorable.
func provenOldest(t *testing.T, a *Archive, backups int) *Manifest {
	t.Helper()
	var oldest *Manifest
	for i := range backups {
		m := mustSave(t, a, fmt.Sprintf("b%d", i), pages(100))
		if i > 0 {
			continue
		}
		oldest = m
		if err := a.AddProof(t.Context(), m, Proof{Level: LevelRestorable}); err != nil {
			t.Fatal(err)
		}
	}
	return oldest
}

// TestPlanWithoutItsProofs: a store that does not answer for a proof is no reason to let the proven backup go.
func TestPlanWithoutItsProofs(t *testing.T) {
	keys, _ := testKeys(t)
	for _, failure := range []error{storetest.ErrFault, context.Canceled, store.ErrDenied} {
		s := directory(t)
		provenOldest(t, Open(s, keys), 3)
		f := &storetest.Fault{Store: s, Before: func(c storetest.Call) error {
			if c.Name == "get" && strings.HasPrefix(c.Key, kindProof) {
				return failure
			}
			return nil
		}}
		if p, err := Open(f, keys).Plan(t.Context(), scope, Retention{Last: 1}); !errors.Is(err, failure) {
			t.Errorf("%v: %+v, %v", failure, p, err)
		}
	}
}

// TestForgedProofHidesNone: proofs that nobody signed, newer and of the same backup, leave the signed one in force.
func TestForgedProofHidesNone(t *testing.T) {
	keys, _ := testKeys(t)
	others, _ := testKeys(t)
	s := directory(t)
	a := Open(s, keys)
	m := provenOldest(t, a, 3)
	forger := Open(s, others)
	forger.now = func() time.Time { return time.Now().Add(time.Hour) }
	if err := forger.AddProof(t.Context(), m, Proof{Level: LevelRestorable}); err != nil {
		t.Fatal(err)
	}
	prefix := m.prefix(kindProof) + m.Attempt + "_l-restorable_u-7"
	storetest.Put(t, s, prefix+m.Attempt[1:]+".json", strings.Repeat("x", maxSigned+1))
	if err := forger.AddProof(t.Context(), &Manifest{Scope: scope, Attempt: find(t, a, "b1").Attempt},
		Proof{Level: LevelRestorable}); err != nil {
		t.Fatal(err)
	}
	p, err := a.Plan(t.Context(), scope, Retention{Last: 1})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"b2", "b0"}, kept(p.Decisions)); d != "" {
		t.Errorf("kept (-want +got):\n%s", d)
	}
}

// TestPlanReadsFewProofs: names say that nothing was proven, or a signed proof was found already.
func TestPlanReadsFewProofs(t *testing.T) {
	keys, _ := testKeys(t)
	s := directory(t)
	a := Open(s, keys)
	provenOldest(t, a, 4)
	reads := 0
	f := &storetest.Fault{Store: s, Before: func(c storetest.Call) error {
		if c.Name == "get" && strings.HasPrefix(c.Key, kindProof) {
			reads++
		}
		return nil
	}}
	count := func(r Retention, want int) {
		t.Helper()
		reads = 0
		if _, err := Open(f, keys).Plan(t.Context(), scope, r); err != nil || reads != want {
			t.Errorf("%d proofs were read instead of %d, %v", reads, want, err)
		}
	}
	count(Retention{}, 0)
	count(Retention{Last: 1}, 1)
	for range 2 {
		m, err := a.Manifest(t.Context(), find(t, a, "b2"))
		if err != nil {
			t.Fatal(err)
		}
		if err := a.AddProof(t.Context(), m, Proof{Level: LevelRestorable}); err != nil {
			t.Fatal(err)
		}
	}
	count(Retention{Last: 1}, 1)
}

// TestForgedNameOfProven: a second name claims that no schedule took the proven backup.
func TestForgedNameOfProven(t *testing.T) {
	keys, _ := testKeys(t)
	s := directory(t)
	a := Open(s, keys)
	provenOldest(t, a, 3)
	storetest.Put(t, s, strings.Replace(find(t, a, "b0").Key, "_x-se", "_x-e", 1), "nobody signed this")
	r := prune(t, a, Retention{Last: 1})
	if d := cmp.Diff([]string{"b1"}, r.Deleted); d != "" {
		t.Errorf("deleted (-want +got):\n%s", d)
	}
	if _, err := load(t, a, "b0"); err != nil {
		t.Error(err)
	}
}

// TestForgedWindow: a name that no schedule took claims to be where the window of the log begins.
func TestForgedWindow(t *testing.T) {
	keys, _ := testKeys(t)
	s := directory(t)
	for i := range 2 {
		from(t, Open(s, keys), fmt.Sprint("b", i), LogStart{Timeline: "1", Segment: "1"})
	}
	older := find(t, Open(s, keys), "b0")
	attempt := older.Attempt[:25] + "Z"
	forged := strings.NewReplacer(older.Attempt, attempt, "_x-se", "_x-e").Replace(older.Key)
	storetest.Put(t, s, forged, "nobody signed this")
	a := Open(aged{s, map[string]time.Duration{older.Key: 4 * time.Hour, forged: 3 * time.Hour}}, keys)
	p, err := a.Plan(t.Context(), scope, Retention{Last: 1, LogWindow: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"b1", "b0"}, kept(p.Decisions)); d != "" || len(p.Unsigned) != 1 {
		t.Errorf("%d are unsigned, kept (-want +got):\n%s", len(p.Unsigned), d)
	}
}

// TestPlanWithoutTheNewest: a backup that a person deletes while a prune decides is no reason to delete another.
func TestPlanWithoutTheNewest(t *testing.T) {
	keys, _ := testKeys(t)
	s := directory(t)
	a := Open(s, keys)
	for i := range 3 {
		mustSave(t, a, fmt.Sprintf("b%d", i), pages(100))
	}
	newest := find(t, a, "b2")
	f := &storetest.Fault{Store: s, Before: func(c storetest.Call) error {
		if c.Name == "get" && c.Key == newest.Key {
			return s.Delete(t.Context(), c.Key)
		}
		return nil
	}}
	p, err := Open(f, keys).Plan(t.Context(), scope, Retention{Last: 1})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"b1"}, kept(p.Decisions)); d != "" {
		t.Errorf("kept (-want +got):\n%s", d)
	}
}
