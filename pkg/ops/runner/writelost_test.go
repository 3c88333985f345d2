package runner

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// TestRecordLostDuringAnOperation: a repair writes the record, and leaves what
// is in flight to be resumed.
func TestRecordLostDuringAnOperation(t *testing.T) {
	b := opstest.NewBench(t)
	c := b.Founded(2, "id")
	b.Must(b.Store().CreateOperation(t.Context(), &v1alpha1.Operation{ObjectMeta: opstest.Object("", nil),
		Spec:   v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbRestart},
		Status: v1alpha1.OperationStatus{Phase: v1alpha1.PhasePaused}}))
	b.Must(b.Store().DeleteCluster(t.Context(), c))
	c.UID, c.ResourceVersion = "", ""
	r := &Runner{Engine: b.Database, Store: b.Store(), Reporter: ops.Silent{}, Poll: time.Millisecond}
	req := planner.Request{Operation: v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbRepair}, Cluster: c}
	founding := planner.Request{Operation: v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbCreate}, Cluster: c}
	if err := r.writeLost(t.Context(), "shop", founding); err != nil || c.UID != "" {
		t.Fatalf("a creation wrote a record over one that is lost: %+v, %v", c, err)
	}
	err := r.writeLost(t.Context(), "shop", req)
	if e, ok := errors.AsType[*ops.Error](err); !ok || e.Kind != ops.Busy ||
		!strings.Contains(e.Hint, "kubectl dbop resume db") {
		t.Errorf("%v", err)
	}
	if got := b.Cluster(); got.Status.ID != c.Status.ID || got.Spec.Members != 2 {
		t.Errorf("%+v", got)
	}
}
