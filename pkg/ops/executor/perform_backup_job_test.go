package executor

import (
	"context"
	"errors"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// TestStopBackup: who steps back from a backup by a Job deletes that. A run of a schedule, which streams by itself, has
// no right to read one.
func TestStopBackup(t *testing.T) {
	t.Parallel()
	for name, mounted := range map[string]map[string]string{"by a Job": nil,
		"by a run of a schedule": {"offsite": "/keys"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := false
			c, _ := kubetest.New(t, interceptor.Funcs{Get: func(ctx context.Context, api client.WithWatch, key client.ObjectKey,
				obj client.Object, opts ...client.GetOption) error {
				if _, job := obj.(*batchv1.Job); job {
					asked = true
					if mounted != nil {
						return errors.New("forbidden")
					}
				}
				return api.Get(ctx, key, obj, opts...)
			}})
			cluster := &v1alpha1.DatabaseCluster{}
			cluster.Name, cluster.Namespace = "db", "shop"
			op := opstest.Operation(v1alpha1.VerbBackup)
			op.Spec.Backup, op.Spec.Repository = "b1", "offsite"
			op.Status.Journal = []v1alpha1.JournalEntry{{Step: ops.BackupStepPrefix + "b1"}}
			l := New(Config{Client: c, Namespace: "shop", Name: "db", Mounted: mounted})
			r, err := l.stopBackup(t.Context(), task{State: ops.State{Operation: op, Cluster: cluster}})
			if err != nil || r.Facts[v1alpha1.FactStopped] != "b1" || asked != (mounted == nil) {
				t.Errorf("%+v, %v, a job was asked for: %t", r, err, asked)
			}
		})
	}
}
