package observe

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
)

func event(kind, reason, message string, first, last time.Duration) corev1.Event {
	return corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: "shop", Name: "e" + reason + message},
		InvolvedObject: corev1.ObjectReference{Kind: kind, Name: "db-1", UID: "uid-1"},
		Reason:         reason, Message: message, FirstTimestamp: ago(first), LastTimestamp: ago(last),
	}
}

func TestCreationProblem(t *testing.T) {
	w := workload.Build(memberInput())
	w.UID = "uid-1"
	quota := event("StatefulSet", "FailedCreate", "exceeded quota", 10*time.Minute, time.Minute)
	created := event("StatefulSet", "SuccessfulCreate", "created", time.Hour, 30*time.Second)
	earlier := event("StatefulSet", "SuccessfulCreate", "created", time.Hour, time.Hour)
	other := quota
	other.InvolvedObject.UID = "uid-0"
	want := &Problem{ProblemForbidden, "exceeded quota", kubetest.Noon().Add(-10 * time.Minute),
		kubetest.Noon().Add(-time.Minute)}
	tests := []struct {
		name   string
		events []corev1.Event
		want   *Problem
	}{
		{"none", nil, nil},
		{"a quota", []corev1.Event{earlier, quota}, want},
		{"refuted by a pod created since", []corev1.Event{quota, created}, nil},
		{"of an earlier workload of that name", []corev1.Event{other}, nil},
		{"of something else", []corev1.Event{event("Pod", "FailedCreate", "x", 0, 0)}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, creationProblem(tt.events, w)); diff != "" {
				t.Errorf("problem (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProvisioningProblem(t *testing.T) {
	v := workload.BuildVolume(kubetest.Cluster(), "db-1")
	v.UID = "uid-1"
	failed := event("PersistentVolumeClaim", "ProvisioningFailed", "no space on any node", 5*time.Minute, time.Minute)
	// Written by the newer events API: only eventTime and series are set.
	failed.FirstTimestamp, failed.LastTimestamp = metav1.Time{}, metav1.Time{}
	failed.EventTime = metav1.NewMicroTime(kubetest.Noon().Add(-5 * time.Minute))
	failed.Series = &corev1.EventSeries{LastObservedTime: metav1.NewMicroTime(kubetest.Noon().Add(-time.Minute))}
	waits := event("PersistentVolumeClaim", "WaitForFirstConsumer", "waiting for first consumer", time.Minute, 0)
	if got := provisioningProblem([]corev1.Event{waits}, v); got != nil {
		t.Errorf("waiting for the first consumer is problem %+v", got)
	}
	want := &Problem{ProblemVolume, "no space on any node", kubetest.Noon().Add(-5 * time.Minute),
		kubetest.Noon().Add(-time.Minute)}
	if diff := cmp.Diff(want, provisioningProblem([]corev1.Event{waits, failed}, v)); diff != "" {
		t.Errorf("problem (-want +got):\n%s", diff)
	}
}
