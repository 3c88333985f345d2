package observe

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestUnused: a volume counts as never written to only where nothing can have.
func TestUnused(t *testing.T) {
	t.Parallel()
	made := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	type objects struct {
		v *corev1.PersistentVolumeClaim
		w *appsv1.StatefulSet
		p *corev1.Pod
	}
	for name, c := range map[string]struct {
		change func(*objects)
		want   bool
	}{
		"the image is not there": {func(*objects) {}, true},
		"no node has room": {func(o *objects) { o.p.Spec.NodeName, o.p.Status.ContainerStatuses = "", nil },
			true},
		"no claim": {func(o *objects) { o.v = nil }, true},
		"never bound, and no pod": {func(o *objects) {
			o.v.Status.Phase, o.v.Spec.VolumeName, o.p = corev1.ClaimPending,
				"", nil
		}, true},
		"not bound yet, but to be": {func(o *objects) { o.v.Status.Phase, o.p = corev1.ClaimPending, nil }, false},
		"bound, and no pod":        {func(o *objects) { o.p = nil }, false},
		"bound, and no workload":   {func(o *objects) { o.w = nil }, false},
		"a volume that was there":  {func(o *objects) { o.v.Annotations = nil }, false},
		"the template was changed": {func(o *objects) { o.w.Generation = 2 }, false},
		"a later pod": {func(o *objects) { o.p.CreationTimestamp = metav1.NewTime(made.Add(time.Minute)) },
			false},
		"a pod that goes":              {func(o *objects) { o.p.DeletionTimestamp = &metav1.Time{Time: made} }, false},
		"a claim that goes":            {func(o *objects) { o.v.DeletionTimestamp = &metav1.Time{Time: made} }, false},
		"it runs":                      {func(o *objects) { o.p.Status.Phase = corev1.PodRunning }, false},
		"it was restarted":             {func(o *objects) { o.p.Status.ContainerStatuses[0].RestartCount = 1 }, false},
		"it has a container":           {func(o *objects) { o.p.Status.ContainerStatuses[0].ContainerID = "x" }, false},
		"its node said nothing so far": {func(o *objects) { o.p.Status.ContainerStatuses = nil }, false},
		"it is about to start": {
			func(o *objects) { o.p.Status.ContainerStatuses[0].State.Waiting.Reason = "ContainerCreating" }, false},
		"an init container ran": {func(o *objects) {
			o.p.Status.InitContainerStatuses = []corev1.ContainerStatus{{ContainerID: "x"}}
		}, false},
	} {
		o := objects{
			v: &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(made),
				Annotations: map[string]string{provisioned: "local"}},
				Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv"}, Status: corev1.PersistentVolumeClaimStatus{
					Phase: corev1.ClaimBound}},
			w: &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Generation: 1}},
			p: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(made.Add(2 * time.Second))},
				Spec: corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{Name: "db"}}},
				Status: corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{
					{Name: "db",
						State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}}}}},
		}
		c.change(&o)
		if got := unused(o.v, o.w, o.p); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
