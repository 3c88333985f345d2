package executor

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/helper"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// TestReadJob: a Job says itself which member it asks, and whether it still does.
func TestReadJob(t *testing.T) {
	t.Parallel()
	job := func(conditions ...batchv1.JobConditionType) client.Object {
		j := &batchv1.Job{}
		j.Namespace, j.Name = "shop", "b1"
		j.Spec.Template.Spec.Containers = []corev1.Container{{Name: "helper",
			Env: []corev1.EnvVar{{Name: helper.EnvBackup, Value: `{"member":"db-2"}`}}}}
		for _, c := range conditions {
			j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{Type: c, Status: corev1.ConditionTrue})
		}
		return j
	}
	for name, c := range map[string]struct {
		there []client.Object
		want  ops.JobState
	}{
		"none":   {nil, ops.JobState{}},
		"runs":   {[]client.Object{job()}, ops.JobState{Runs: true, Source: "db-2"}},
		"done":   {[]client.Object{job(batchv1.JobComplete)}, ops.JobState{Done: true, Source: "db-2"}},
		"failed": {[]client.Object{job(batchv1.JobFailed)}, ops.JobState{Source: "db-2"}},
	} {
		api, _ := kubetest.New(t, interceptor.Funcs{}, c.there...)
		op := opstest.Operation("backup")
		op.Spec.Backup = "B1"
		got, err := New(Config{Client: api, Namespace: "shop", Name: "db"}).ReadJob(t.Context(), op)
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}
