package operation

import (
	"errors"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// withoutHistory is an engine that has no more than every engine has.
type withoutHistory struct{ engine.Engine }

// TestRestoreKeepsARevisionWhereThereIsOne: an engine without revisions refuses
// the flag before anything is made.
func TestRestoreKeepsARevisionWhereThereIsOne(t *testing.T) {
	t.Parallel()
	o := v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbRestore,
		RestoreParameters: v1alpha1.RestoreParameters{KeepRevision: true}}
	c := opstest.Well(3).Cluster
	var refusal *engine.Refusal
	if err := (Restore{}).Check(withoutHistory{opstest.Engine{}}, o, c, c); !errors.As(err, &refusal) ||
		refusal.Check != "history" {
		t.Errorf("no revision to keep, and %v", err)
	}
	if err := (Restore{}).Check(opstest.Engine{}, o, c, c); errors.As(err, &refusal) && refusal.Check == "history" {
		t.Errorf("it has a history, and %v", err)
	}
}
