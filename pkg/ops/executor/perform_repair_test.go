package executor

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// TestRepairSecret: an owner is taken from the authority's secret, and what it holds stays.
func TestRepairSecret(t *testing.T) {
	b := opstest.NewBench(t)
	b.Founded(2, "id")
	running(b, "db-1", "db-2")
	ca := &corev1.Secret{}
	b.Exists(ca, "db-ca")
	before := ca.Data
	opstest.Edit(b, &corev1.Secret{}, "db-ca", func(s *corev1.Secret) {
		s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "u"}}
	})
	l := liveOf(b)
	b.Op = opstest.Operation(v1alpha1.VerbRepair)
	s := observation(b, l)
	b.Must(l.repair(t.Context(), task{State: s, Step: ops.Step{Touches: []string{"secret/db-ca"}}}))
	b.Exists(ca, "db-ca")
	if diff := cmp.Diff(before, ca.Data); diff != "" || len(ca.OwnerReferences) > 0 {
		t.Errorf("owners %v; the authority changed:\n%s", ca.OwnerReferences, diff)
	}
}

// TestRepairWorkload: what was changed of a workload is as before.
func TestRepairWorkload(t *testing.T) {
	b := opstest.NewBench(t)
	b.Founded(2, "id")
	running(b, "db-1", "db-2")
	if got := health.Tampered(observation(b, liveOf(b))); len(got) > 0 {
		t.Fatalf("tampered before anybody did: %v", got)
	}
	opstest.Edit(b, &appsv1.StatefulSet{}, "db-1", func(w *appsv1.StatefulSet) {
		w.Spec.Replicas = new(int32(2))
		w.Spec.Template.Spec.Containers[0].Image = "bad"
	})
	l := liveOf(b)
	s := observation(b, l)
	if got := health.Tampered(s); len(got) != 1 || got[0] != "db-1" {
		t.Fatalf("tampered: %v", got)
	}
	s.Operation = opstest.Operation(v1alpha1.VerbRepair)
	b.Must(l.repair(t.Context(), task{State: s, Step: ops.Step{Members: []string{"db-1"},
		Touches: []string{"statefulset/db-1"}}}))
	if s = observation(b, liveOf(b)); len(health.Tampered(s)) > 0 || s.Kube.Member("db-1").Workload.Image == "bad" {
		t.Errorf("still %+v", s.Kube.Differences)
	}
}
