package runner

import (
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// TestOnceOnly: under the lease counts what is on record, whatever was observed
// at before.
func TestOnceOnly(t *testing.T) {
	t.Parallel()
	s := opstest.Well(3)
	s.Cluster.ResourceVersion = "1"
	past := opstest.Operation(v1alpha1.VerbBackup)
	past.Name, past.Spec.Object, past.Status.Phase = "db.op-past", "one", v1alpha1.PhaseCancelled
	sh := &shelf{cluster: s.Cluster.DeepCopy(), operations: []*v1alpha1.Operation{past}, version: 1, fuse: 1 << 30}
	runner := newRunner(sh, newIdeal(s))
	asks := func(object string) error {
		_, err := runner.Prepare(t.Context(), "shop", planner.Request{Operation: v1alpha1.OperationSpec{Cluster: "db",
			Verb: v1alpha1.VerbBackup, Repository: "pvc:b", Backup: "b",
			BackupParameters: v1alpha1.BackupParameters{Object: object}}})
		return err
	}
	if err := asks("one"); ops.KindOf(err) != ops.Unchanged || !strings.Contains(err.Error(), "db.op-past") {
		t.Errorf("it is taken again: %v", err)
	}
	for _, object := range []string{"two", ""} {
		if err := asks(object); err != nil {
			t.Errorf("%q: %v", object, err)
		}
	}
}
