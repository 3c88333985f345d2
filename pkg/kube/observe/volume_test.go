package observe

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
)

func TestVolumeFacts(t *testing.T) {
	v := workload.BuildVolume(kubetest.Cluster(), "db-1")
	v.CreationTimestamp = ago(time.Minute)
	v.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound,
		Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("12Gi")}}
	want := Volume{Exists: true, Bound: true, Token: "token-1", Size: resource.MustParse("10Gi"),
		Capacity: resource.MustParse("12Gi")}
	if diff := cmp.Diff(want, volumeFacts(v)); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
	v.Status.Phase, v.Spec.VolumeName = corev1.ClaimLost, "pv-1"
	if p := volumeFacts(v).Problem; p == nil || p.Kind != ProblemVolume {
		t.Errorf("a lost volume is problem %+v", p)
	}
}

func TestBindingProblem(t *testing.T) {
	tests := []struct {
		message string
		want    bool
	}{
		{"0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found", true},
		{"0/2 nodes are available: 2 node(s) had volume node affinity conflict.", true},
		{"0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind.", true},
		{`persistentvolumeclaim "db-1" not found`, true},
		{"0/2 nodes are available: 2 Insufficient cpu.", false},
	}
	for _, tt := range tests {
		if got := bindingProblem(testPod(unscheduled(tt.message))); (got != nil) != tt.want {
			t.Errorf("%q: problem %+v, want one: %v", tt.message, got, tt.want)
		}
	}
	if got := bindingProblem(testPod()); got != nil {
		t.Errorf("a scheduled pod has problem %+v", got)
	}
}

func TestGrowthFacts(t *testing.T) {
	for kind, want := range map[corev1.PersistentVolumeClaimConditionType]Volume{
		corev1.PersistentVolumeClaimFileSystemResizePending: {Growth: "as the storage says"},
		corev1.PersistentVolumeClaimControllerResizeError: {Problem: &Problem{Kind: ProblemGrowth,
			Message: "as the storage says"}},
	} {
		v := workload.BuildVolume(kubetest.Cluster(), "db-1")
		v.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound,
			Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			Conditions: []corev1.PersistentVolumeClaimCondition{{Type: kind, Status: corev1.ConditionTrue,
				Message: "as the storage says"}}}
		got := volumeFacts(v)
		if diff := cmp.Diff(want, Volume{Growth: got.Growth, Problem: got.Problem}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
		v.Status.Capacity[corev1.ResourceStorage] = resource.MustParse("10Gi")
		if got := volumeFacts(v); got.Growth != "" || got.Problem != nil {
			t.Errorf("%s: it has grown, and is said to: %+v", kind, got)
		}
	}
}
