package ops

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// TestAsked: what an object asks for is what a command would, with its name to it.
func TestAsked(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		of, here, want string
		verify         bool
	}{
		{"pvc:daily", "", "pvc:daily", false},
		{"pvc:daily", "pvc:extra/db", "pvc:extra/db", true},
		{"", "pvc:extra", "pvc:extra", false},
		{"", "", "", false},
	} {
		g := charge()
		// What is wanted counts, not what was accepted: a schedule that moves is an operation of its own.
		g.Record.Spec.Backup.Repository, g.Custom.Spec.Backup.Repository = "pvc:old", row.of
		g.Custom.Spec.Backup.Schedule, g.Record.Spec.Backup.Schedule = "@daily", "@daily"
		g.Backups = asking()
		g.Backups[0].Spec.Repository, g.Backups[0].Spec.Verify = row.here, row.verify
		m, err := Govern(g)
		if err != nil || m.Request == nil || m.Asked != "uid-of-first" {
			t.Fatalf("%+v: %+v, %v", row, m, err)
		}
		want := v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbBackup, RequestedBy: "operator: databasebackup first",
			Repository: row.want, Verify: row.verify, Object: "uid-of-first"}
		if diff := cmp.Diff(want, m.Request.Operation); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", row, diff)
		}
	}
}

func TestCheckAsked(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ object, repository, want string }{
		{"uid", "pvc:backups", ""},
		{"uid", "pvc:backups/db", ""},
		{"uid", "", "neither this object nor databasecluster db names a repository"},
		{"uid", "dir:/tmp", "dir:/tmp is a directory of one machine"},
		{"uid", "pvc:", "not a repository"},
		{"", "dir:/tmp", ""}, // a person's own
	} {
		s := well(3)
		r := Request{Operation: v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbBackup, Object: row.object, Repository: row.repository}}
		err := check(stub{}, r, s.Cluster)
		if row.want == "" {
			if err != nil {
				t.Errorf("%+v: %v", row, err)
			}
			continue
		}
		refusal, ok := errors.AsType[*engine.Refusal](err)
		if !ok || refusal.Check != "repository" || !strings.Contains(refusal.Reason, row.want) || !strings.Contains(refusal.Hint, "make another one with spec.repository") {
			t.Errorf("%+v: %v", row, err)
		}
	}
}

// TestSameAsked: a command that asks for a backup continues that of an object;
// an object has a backup of its own.
func TestSameAsked(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		active, asks string
		want         bool
	}{{"", "", true}, {"one", "one", true}, {"one", "", true}, {"", "one", false}, {"two", "one", false}} {
		op := &v1alpha1.Operation{Spec: v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbBackup, Repository: "pvc:b", Object: row.active}}
		if got := same(op, v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbBackup, Repository: "pvc:b", Object: row.asks}); got != row.want {
			t.Errorf("%+v: %v", row, got)
		}
	}
}

// TestOnceOnly: under the lease counts what is on record, whatever was looked
// at before.
func TestOnceOnly(t *testing.T) {
	t.Parallel()
	s := well(3)
	s.Cluster.ResourceVersion = "1"
	past := operation(v1alpha1.VerbBackup)
	past.Name, past.Spec.Object, past.Status.Phase = "db.op-past", "one", v1alpha1.PhaseCancelled
	sh := &shelf{cluster: s.Cluster.DeepCopy(), operations: []*v1alpha1.Operation{past}, version: 1, fuse: 1 << 30}
	runner := newRunner(sh, newIdeal(s))
	asks := func(object string) error {
		_, err := runner.Prepare(t.Context(), "shop", Request{Operation: v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbBackup, Repository: "pvc:b", Backup: "b", Object: object}})
		return err
	}
	if err := asks("one"); KindOf(err) != Unchanged || !strings.Contains(err.Error(), "db.op-past") {
		t.Errorf("it is taken again: %v", err)
	}
	for _, object := range []string{"two", ""} {
		if err := asks(object); err != nil {
			t.Errorf("%q: %v", object, err)
		}
	}
}
