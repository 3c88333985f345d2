package ops

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// TestReturnToIncarnation: who takes a restore back goes to the volumes from before it, and who steps that back to the
// restored ones. Each counts on, once, so that a copy of the record that was left behind is not the newest.
func TestReturnToIncarnation(t *testing.T) {
	t.Parallel()
	before := v1alpha1.Incarnation{Bootstrap: v1alpha1.Bootstrap{Token: "t", ClusterID: "id", Incarnation: 1}, Auth: true}
	after := v1alpha1.Incarnation{Bootstrap: v1alpha1.Bootstrap{Token: "t2", ClusterID: "id2", Incarnation: 2},
		RestoreFrom: &v1alpha1.RestoreSource{Backup: "b0"}}
	as := func(i v1alpha1.Incarnation, count int32) *v1alpha1.DatabaseCluster {
		c := &v1alpha1.DatabaseCluster{}
		c.Spec.RestoreFrom, c.Spec.Auth.Enabled = i.RestoreFrom.DeepCopy(), i.Auth
		c.Status.Bootstrap = i.Bootstrap.DeepCopy()
		c.Status.Bootstrap.Incarnation = count
		return c
	}
	undo, restore := &v1alpha1.Operation{}, &v1alpha1.Operation{}
	undo.Spec.FromIncarnation, undo.Spec.ToIncarnation = &after, &before
	restore.Spec.FromIncarnation = &before
	c := as(after, 2)
	c.Status.LastBackup, c.Status.LastVerifiedBackup = &v1alpha1.BackupReference{ID: "b1"}, &v1alpha1.BackupReference{}
	for _, row := range []struct {
		name  string
		op    *v1alpha1.Operation
		phase v1alpha1.Phase
		want  *v1alpha1.DatabaseCluster
	}{
		{"it is taken back", undo, v1alpha1.PhaseRunning, as(before, 3)},
		{"a repeat", undo, v1alpha1.PhaseRunning, as(before, 3)},
		{"that is stepped back", undo, v1alpha1.PhaseCancelling, as(after, 4)},
		{"a repeat of that", undo, v1alpha1.PhaseCancelling, as(after, 4)},
		{"a restore is stepped back", restore, v1alpha1.PhaseCancelling, as(before, 1)},
	} {
		row.op.Status.Phase = row.phase
		ReturnToIncarnation(c, row.op)
		if diff := cmp.Diff(row.want, c); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
	if undo.Spec.ToIncarnation.Bootstrap.Incarnation != 1 {
		t.Error("the record was written to")
	}
}
