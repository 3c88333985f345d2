package observe

import (
	"cmp"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// creationProblem says why a workload's pod can't be created (a quota, Pod
// Security, a webhook): only events tell. A pod created since refutes it.
func creationProblem(events []corev1.Event, w *appsv1.StatefulSet) *Problem {
	e := newest(events, "StatefulSet", string(w.UID), "FailedCreate", "SuccessfulCreate")
	if e == nil || e.Reason != "FailedCreate" {
		return nil
	}
	return &Problem{Kind: ProblemForbidden, Message: e.Message, Since: firstSeen(e), Seen: lastSeen(e)}
}

// provisioningProblem says why a claim is not bound. FailedBinding is also
// what Kubernetes says of a claim without a storage class.
func provisioningProblem(events []corev1.Event, v *corev1.PersistentVolumeClaim) *Problem {
	e := newest(events, "PersistentVolumeClaim", string(v.UID), "ProvisioningFailed", "FailedBinding",
		"ProvisioningSucceeded")
	if e == nil || e.Reason == "ProvisioningSucceeded" {
		return nil
	}
	return &Problem{Kind: ProblemVolume, Message: e.Message, Since: firstSeen(e), Seen: lastSeen(e)}
}

// newest is the latest event about an object with one of the reasons.
func newest(events []corev1.Event, kind, uid string, reasons ...string) *corev1.Event {
	var found *corev1.Event
	for i := range events {
		e := &events[i]
		if e.InvolvedObject.Kind != kind || (uid != "" && string(e.InvolvedObject.UID) != uid) || !slices.Contains(reasons,
			e.Reason) {
			continue
		}
		if found == nil || lastSeen(e).After(lastSeen(found)) {
			found = e
		}
	}
	return found
}

func lastSeen(e *corev1.Event) time.Time {
	if e.Series != nil && !e.Series.LastObservedTime.IsZero() {
		return e.Series.LastObservedTime.Time
	}
	return latest(e.LastTimestamp.Time, e.EventTime.Time, e.CreationTimestamp.Time)
}

// firstSeen: old and new event APIs keep it in different places.
func firstSeen(e *corev1.Event) time.Time {
	return cmp.Or(e.FirstTimestamp.Time, e.EventTime.Time, e.CreationTimestamp.Time)
}

// latest is the latest of times of which some may be unset.
func latest(times ...time.Time) time.Time {
	return slices.MaxFunc(times, time.Time.Compare)
}
