package observe

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// firstPodWithin is how soon after its volume claim a pod must have been made
// to be the first that could use it: none before it can have been made, have
// run and have ended in that time.
const firstPodWithin = 5 * time.Second

// provisioned is what Kubernetes writes on a claim for which a volume is made.
const provisioned = "volume.kubernetes.io/storage-provisioner"

// unused reports whether no container can ever have written to a volume. Either
// the claim was never bound, or its first pod is still there, made from the
// first template of its workload, and has not started a container.
func unused(v *corev1.PersistentVolumeClaim, w *appsv1.StatefulSet, p *corev1.Pod) bool {
	if v == nil || v.DeletionTimestamp != nil {
		return v == nil
	}
	if v.Status.Phase == corev1.ClaimPending && v.Spec.VolumeName == "" {
		return true
	}
	if v.Annotations[provisioned] == "" {
		return false // somebody made the volume before, perhaps with data
	}
	if w == nil || p == nil || w.Generation > 1 || p.DeletionTimestamp != nil || p.Status.Phase != corev1.PodPending ||
		p.CreationTimestamp.Sub(v.CreationTimestamp.Time) > firstPodWithin {
		return false
	}
	for _, all := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		for i := range all {
			if s := &all[i]; s.ContainerID != "" || s.RestartCount > 0 || lastEnd(s) != nil || s.State.Running != nil {
				return false
			}
		}
	}
	// What a silent node last said may be old.
	return p.Spec.NodeName == "" || pulls(p)
}

// pulls reports whether a node says of the pod that an image is not there.
func pulls(p *corev1.Pod) bool {
	s := mainStatus(p)
	return s != nil && s.State.Waiting != nil && isImageReason(s.State.Waiting.Reason)
}
