package observe

import (
	"cmp"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// volumeFacts reads a member's claim.
func volumeFacts(v *corev1.PersistentVolumeClaim) Volume {
	f := Volume{
		Exists: true, Bound: v.Status.Phase == corev1.ClaimBound, Terminating: v.DeletionTimestamp != nil,
		UID:   string(v.UID),
		Token: v.Annotations[kube.AnnotationToken],
		Size:  v.Spec.Resources.Requests[corev1.ResourceStorage], Capacity: v.Status.Capacity[corev1.ResourceStorage],
	}
	if v.Status.Phase == corev1.ClaimLost {
		f.Problem = &Problem{Kind: ProblemVolume, Message: "the volume " + v.Spec.VolumeName + " behind the claim is gone",
			Since: v.CreationTimestamp.Time}
	}
	growthFacts(&f, v)
	return f
}

// growthFacts reads how far a growth has come, and what failed of it.
func growthFacts(f *Volume, v *corev1.PersistentVolumeClaim) {
	if f.Size.Cmp(f.Capacity) <= 0 {
		return
	}
	for _, c := range v.Status.Conditions {
		if c.Status != corev1.ConditionTrue {
			continue
		}
		words := cmp.Or(c.Message, string(c.Type))
		switch c.Type {
		case corev1.PersistentVolumeClaimControllerResizeError, corev1.PersistentVolumeClaimNodeResizeError:
			f.Problem = &Problem{Kind: ProblemGrowth, Message: words, Since: c.LastTransitionTime.Time}
		case corev1.PersistentVolumeClaimFileSystemResizePending, corev1.PersistentVolumeClaimResizing:
			f.Growth = words
		}
	}
}

// bindingProblem blames the volume if the scheduler does. A claim that waits
// for its first consumer is no problem by itself.
func bindingProblem(p *corev1.Pod) *Problem {
	c := condition(p, corev1.PodScheduled)
	if c == nil || c.Status != corev1.ConditionFalse {
		return nil
	}
	words := strings.ToLower(c.Message)
	for _, of := range []string{"persistentvolumeclaim", "persistent volume", "volume node affinity", "volume binding",
		"storageclass", "storage class"} {
		if strings.Contains(words, of) {
			return &Problem{Kind: ProblemVolume, Message: c.Message, Since: c.LastTransitionTime.Time}
		}
	}
	return nil
}
