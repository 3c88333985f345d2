package archive

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/store/storetest"
)

// TestRetainingBucket goes through a life in a bucket that retains each new object: nothing fails, and all stays.
func TestRetainingBucket(t *testing.T) {
	keys, _ := testKeys(t)
	a := Open(openS3(t, storetest.StartS3(t).Retaining(t)), keys)
	body := pages(3 << 20)
	for i := range 2 {
		mustSave(t, a, fmt.Sprintf("b%d", i), body)
	}
	if err := a.Log(scope, "1").Append(t.Context(), numbered(1), pages(10)); err != nil {
		t.Error(err)
	}
	_, h, err := a.Hold(t.Context(), find(t, a, "b1"), time.Hour, "restore")
	if err == nil {
		err = a.Release(t.Context(), h)
	}
	if err != nil {
		t.Error(err)
	}
	p, err := a.Plan(t.Context(), scope, Retention{Last: 1})
	if err != nil {
		t.Fatal(err)
	}
	if d := p.Decisions[1]; d.ID != "b0" || !d.Keep || d.RetainedUntil.IsZero() ||
		d.Reason != "the store retains it until "+d.RetainedUntil.Format(time.RFC3339) {
		t.Errorf("%+v", d)
	}
	r, err := a.Prune(t.Context(), p)
	if err != nil || len(r.Deleted) != 0 || !slices.Equal(r.Retained, []string{"b0"}) {
		t.Errorf("%+v, %v", r, err)
	}
	if err := a.Remove(t.Context(), find(t, a, "b0")); !errors.Is(err, store.ErrRetained) ||
		!strings.Contains(err.Error(), "until "+p.Decisions[1].RetainedUntil.Format(time.RFC3339)) {
		t.Errorf("a deletion by hand: %v", err)
	}
	for _, id := range []string{"b0", "b1"} {
		if got, err := load(t, a, id); err != nil || !bytes.Equal(got, body) {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// TestRetaining asks the store to keep what belongs to a backup and to the log, however it is stored, and by the
// store's clock.
func TestRetaining(t *testing.T) {
	keys, _ := testKeys(t)
	server := storetest.StartS3(t)
	s := openS3(t, server.Config(t, true))
	a := Open(s, keys).Retaining(time.Hour)
	a.now = func() time.Time { return time.Now().Add(24 * time.Hour) }
	for id, size := range map[string]int{"one-request": 100, "parts": 40 << 20} {
		w, _, err := a.Begin(t.Context(), request(id, "op-"+id, ""))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Stream(t.Context(), "snapshot.db", bytes.NewReader(pages(size))); err != nil {
			t.Fatal(err)
		}
		m, err := w.Commit(t.Context(), Manifest{Engine: "etcd", Version: "3.6.1"})
		if err != nil || m.RetainUntil == nil || time.Until(*m.RetainUntil) > time.Hour {
			t.Errorf("%+v, %v", m, err)
		}
	}
	if err := a.Log(scope, "1").Append(t.Context(), numbered(1), pages(10)); err != nil {
		t.Fatal(err)
	}
	retains(t, s, 2, 2, 1)
	if err := a.Remove(t.Context(), find(t, a, "parts")); !errors.Is(err, store.ErrRetained) {
		t.Errorf("a deletion by hand: %v", err)
	}
	// A copy is retained where it comes to.
	other := openS3(t, server.Config(t, true))
	to := Open(other, keys).Retaining(time.Hour)
	for _, id := range []string{"one-request", "parts"} {
		if _, err := importOne(t, to, a, find(t, a, id)); err != nil {
			t.Error(err)
		}
	}
	if _, err := to.ImportLog(t.Context(), a, scope, "1", []LogStart{{Timeline: numbered(1).Timeline}}); err != nil {
		t.Error(err)
	}
	retains(t, other, 2, 2, 1)
}

// retains holds that each object of those kinds is there, and retained for about an hour.
func retains(t *testing.T, s store.Store, manifests, volumes, segments int) {
	t.Helper()
	for kind, want := range map[string]int{kindManifest: manifests, kindData: volumes, kindLog: segments} {
		all := storetest.Keys(t, s, kind+"/")
		if len(all) != want {
			t.Errorf("%d %s, want %d", len(all), kind, want)
		}
		for _, key := range all {
			o, err := s.Head(t.Context(), key)
			if left := time.Until(o.RetainedUntil); err != nil || left < 58*time.Minute || left > time.Hour {
				t.Errorf("%s is retained until %s, %v", key, o.RetainedUntil, err)
			}
		}
	}
}

// TestRetentionEnds: once the time is over a prune deletes what it refused before.
func TestRetentionEnds(t *testing.T) {
	keys, _ := testKeys(t)
	s := openS3(t, storetest.StartS3(t).Config(t, true))
	a := Open(s, keys).Retaining(5 * time.Second)
	mustSave(t, a, "b0", pages(100))
	until := find(t, a, "b0")
	mustSave(t, a, "b1", pages(100))
	if r := prune(t, a, Retention{Last: 1}); len(r.Deleted) != 0 || !slices.Equal(r.Retained, []string{"b0"}) {
		t.Fatalf("%+v", r)
	}
	o, err := s.Head(t.Context(), until.Key)
	if err != nil {
		t.Fatal(err)
	}
	<-time.After(time.Until(o.RetainedUntil) + time.Second)
	if r := prune(t, a, Retention{Last: 1}); !slices.Equal(r.Deleted, []string{"b0"}) || len(r.Retained) != 0 {
		t.Errorf("%+v", r)
	}
}

// TestRetainingDirectory: what can't retain takes nothing, instead of taking it for less.
func TestRetainingDirectory(t *testing.T) {
	keys, _ := testKeys(t)
	a := Open(directory(t), keys).Retaining(time.Hour)
	if _, err := save(t, a, request("b", "op", ""), pages(100)); !errors.Is(err, store.ErrUnsupported) {
		t.Error(err)
	}
	if err := a.Log(scope, "1").Append(t.Context(), numbered(1), pages(10)); !errors.Is(err, store.ErrUnsupported) {
		t.Error(err)
	}
}

// keeping is a store that retains what begins with a prefix, and tells nobody before it is asked to delete.
func keeping(s store.Store, prefix string) store.Store {
	return &storetest.Fault{Store: s, Before: func(c storetest.Call) error {
		if c.Name == "delete" && strings.HasPrefix(c.Key, prefix) {
			return fmt.Errorf("delete %s: %w", c.Key, store.ErrRetained)
		}
		return nil
	}}
}

// TestRetainedChanges: the full backup stays as long as the store retains what adds to it.
func TestRetainedChanges(t *testing.T) {
	keys, _ := testKeys(t)
	s := directory(t)
	a := Open(s, keys)
	full := mustSave(t, a, "full", pages(100))
	if _, err := saveChanges(t, a, "changes", full.Attempt); err != nil {
		t.Fatal(err)
	}
	mustSave(t, a, "newest", pages(100))
	r := prune(t, Open(keeping(s, find(t, a, "changes").Key), keys), Retention{Last: 1})
	if len(r.Deleted) != 0 || !slices.Equal(r.Retained, []string{"changes", "full"}) {
		t.Errorf("%+v", r)
	}
	if got := ids(t, a); !slices.Equal(got, []string{"newest", "changes", "full"}) {
		t.Errorf("left %q", got)
	}
}

// TestPlanRetainedChanges: a plan says so before, and names both.
func TestPlanRetainedChanges(t *testing.T) {
	keys, _ := testKeys(t)
	a := Open(openS3(t, storetest.StartS3(t).Config(t, true)), keys)
	full := mustSave(t, a, "full", pages(100))
	if _, err := saveChanges(t, a.Retaining(time.Hour), "changes", full.Attempt); err != nil {
		t.Fatal(err)
	}
	mustSave(t, a, "other", pages(100))
	mustSave(t, a, "newest", pages(100))
	p, err := a.Plan(t.Context(), scope, Retention{Last: 1})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"newest", "changes", "full"}, kept(p.Decisions)); d != "" {
		t.Errorf("kept (-want +got):\n%s", d)
	}
	if d := p.Decisions[2]; d.RetainedUntil.IsZero() ||
		d.Reason != "the store retains it until "+d.RetainedUntil.Format(time.RFC3339) {
		t.Errorf("%+v", d)
	}
	if d := p.Decisions[3]; !d.RetainedUntil.IsZero() || d.Reason != "changes adds to it" {
		t.Errorf("%+v", d)
	}
	r, err := a.Prune(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(&Result{Deleted: []string{"other"}, Retained: []string{"changes", "full"}}, r); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestResumeRetained: a volume that nobody knows and that the store keeps leaves the repeat another attempt.
func TestResumeRetained(t *testing.T) {
	keys, _ := testKeys(t)
	s := directory(t)
	r, body := request("b", "op-1", "staged file"), pages(5<<20)
	killed := &storetest.Fault{Store: s, Before: func(c storetest.Call) error {
		if c.Name == "put" && strings.Contains(c.Key, "snapshot.db.00001.json") {
			return storetest.ErrFault
		}
		return nil
	}}
	if _, err := save(t, Open(killed, keys), r, body); !errors.Is(err, storetest.ErrFault) {
		t.Fatal(err)
	}
	a := Open(keeping(s, kindData), keys)
	if _, err := save(t, a, r, body); err != nil {
		t.Fatal(err)
	}
	if got, err := load(t, a, "b"); err != nil || !bytes.Equal(got, body) {
		t.Error(err)
	}
}
