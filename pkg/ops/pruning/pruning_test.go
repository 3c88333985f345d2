package pruning

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

func TestNeeded(t *testing.T) {
	t.Parallel()
	source := func(phase v1alpha1.Phase, id string) v1alpha1.Operation {
		return v1alpha1.Operation{Spec: v1alpha1.OperationSpec{Source: &v1alpha1.BackupSource{Backup: id}},
			Status: v1alpha1.OperationStatus{Phase: phase, StartedAt: metav1.NewTime(time.Now())}}
	}
	made := v1alpha1.DatabaseCluster{}
	made.Spec.RestoreFrom, made.Status.Bootstrap = &v1alpha1.RestoreSource{Backup: "loaded"},
		&v1alpha1.Bootstrap{ClusterID: "id"}
	started := v1alpha1.DatabaseCluster{}
	started.Spec.RestoreFrom, started.Status.Bootstrap = &v1alpha1.RestoreSource{Backup: "loading"}, &v1alpha1.Bootstrap{}
	got := Needed([]v1alpha1.DatabaseCluster{made, started},
		[]v1alpha1.Operation{source(v1alpha1.PhasePaused, "paused"), source(v1alpha1.PhaseSucceeded, "done")})
	if diff := cmp.Diff(map[string]bool{"loading": true, "paused": true}, got); diff != "" {
		t.Error(diff)
	}
}
