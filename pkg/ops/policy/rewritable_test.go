package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// TestRewritable: a record is written again without being asked for only where
// nothing is in doubt.
func TestRewritable(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		change func(*Input)
		want   string
	}{
		"lost":    {func(*Input) {}, "repair "},
		"damaged": {func(g *Input) { g.Damaged = store.ErrDamaged }, "repair "},
		"of a stopped cluster": {func(g *Input) { g.Kept.Workloads, g.Kept.Record.Spec.Stopped = nil, true },
			"repair "},
		"a scale is in flight": {func(g *Input) { g.Active = opstest.Operation(v1alpha1.VerbScale) }, "repair "},
		"not clear":            {func(g *Input) { g.Kept.Clear = false }, "rest refused by record-missing"},
		"not clear, and damaged": {func(g *Input) { g.Kept.Clear, g.Damaged = false, store.ErrDamaged },
			"rest refused by record-damaged"},
		"of another object": {func(g *Input) { g.Custom.UID = "other" }, "rest refused by record-missing"},
		"of the command line": {func(g *Input) { g.Kept.Record.Annotations = nil },
			"rest refused by record-missing"},
		"it has not formed": {func(g *Input) { g.Kept.Record.Status.Bootstrap.ClusterID = "" },
			"rest refused by record-missing"},
		"only volumes are left": {func(g *Input) { g.Kept.Workloads = nil }, "create "},
		"a restore is in flight": {func(g *Input) { g.Active = opstest.Operation(v1alpha1.VerbRestore) },
			"rest refused by record-missing"},
		"a recovery is in flight": {func(g *Input) { g.Active = opstest.Operation(v1alpha1.VerbRecover) },
			"rest refused by record-missing"},
		"a deletion is in flight": {func(g *Input) { g.Active = opstest.Operation(v1alpha1.VerbDelete) }, "continue "},
		"the object is paused":    {func(g *Input) { g.Custom.Spec.Paused = true }, "rest refused by record-missing"},
		"the object is being deleted": {func(g *Input) { g.Custom.DeletionTimestamp = &metav1.Time{Time: opstest.Now()} },
			"rest "},
		"the object was deleted":        {func(g *Input) { g.Custom = nil }, "rest "},
		"the record is there after all": {func(g *Input) { g.Record = g.Kept.Record }, "observe "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := charged()
			g.Kept = store.Kept{Record: g.Record, Clear: true, Workloads: []string{"db-1"}, Volumes: []string{"db-1"}}
			g.Record = nil
			row.change(&g)
			m, err := Next(g)
			if got := told(m, err); got != row.want {
				t.Fatalf("%q, want %q", got, row.want)
			}
			if row.want != "repair " {
				return
			}
			before := m.Request.Cluster.DeepCopy()
			if err := Complete(opstest.Stub{}, m.Request, opstest.Now(),
				strings.NewReader(strings.Repeat("x", 64))); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, m.Request.Cluster); diff != "" || !m.Request.Operation.Quiet {
				t.Errorf("%+v was founded again (-want +got):\n%s", m.Request.Operation, diff)
			}
		})
	}
}
