package observe

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Limits of judgement.
const (
	// deletionOverdue after the end of its grace a pod that is still there has
	// no kubelet that would confirm its end.
	deletionOverdue = time.Minute
	// crashMemory is how long a crash speaks against a container that runs
	// again but is not ready: between two crashes it always seems fine for a while.
	crashMemory = 5 * time.Minute
	// crashes that make a loop.
	crashes = 2
)

// noSpace is the operating system's own text, whatever program passes it on.
const noSpace = "no space left on device"

// podProblem says what keeps a pod from working, nil if nothing does or if it
// may just need time. The graver cause comes first.
func podProblem(p *corev1.Pod, now time.Time) *Problem {
	if problem := nodeProblem(p, now); problem != nil {
		return problem
	}
	if p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodSucceeded {
		return nil
	}
	if c := condition(p, corev1.PodScheduled); c != nil && c.Status == corev1.ConditionFalse {
		problem := &Problem{Kind: ProblemUnschedulable, Message: cmp.Or(c.Message, c.Reason),
			Since: c.LastTransitionTime.Time}
		if volumeElsewhere(c.Message) {
			problem.Kind, problem.Message = ProblemNode, "its volume is on a node that is not there any more: "+c.Message
		}
		return problem
	}
	for _, all := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		for i := range all {
			if problem := containerProblem(p, &all[i], now); problem != nil {
				return problem
			}
		}
	}
	return nil
}

// nodeProblem recognises the pod of a lost node: the node controller marks it
// not ready while the last that its kubelet said is that all containers are;
// later it is deleted, and nobody is there to confirm.
func nodeProblem(p *corev1.Pod, now time.Time) *Problem {
	if p.DeletionTimestamp != nil {
		if p.Spec.NodeName != "" && now.Sub(p.DeletionTimestamp.Time) > deletionOverdue {
			return &Problem{Kind: ProblemNode, Message: fmt.Sprintf("node %s does not confirm that the pod ended",
				p.Spec.NodeName), Since: p.DeletionTimestamp.Time}
		}
		return nil
	}
	ready := condition(p, corev1.PodReady)
	if ready == nil || ready.Status == corev1.ConditionTrue || len(p.Spec.ReadinessGates) > 0 ||
		!conditionIs(p, corev1.ContainersReady, corev1.ConditionTrue) {
		return nil
	}
	return &Problem{Kind: ProblemNode, Message: fmt.Sprintf("node %s is not ready", p.Spec.NodeName),
		Since: ready.LastTransitionTime.Time}
}

// elsewhere is how the scheduler counts the nodes that a volume is not on, in
// its words of today and of before.
var elsewhere = regexp.MustCompile(
	`^0/(\d+) nodes are available: (\d+) node\(s\) (?:had volume node affinity conflict|` +
		`didn't match PersistentVolume's node affinity)`)

// volumeElsewhere reports whether no node of the cluster has the pod's volume:
// its own would be counted for another reason, were it only cordoned or silent.
func volumeElsewhere(message string) bool {
	counted := elsewhere.FindStringSubmatch(message)
	return counted != nil && counted[1] == counted[2]
}

func containerProblem(p *corev1.Pod, s *corev1.ContainerStatus, now time.Time) *Problem {
	if w := s.State.Waiting; w != nil {
		switch {
		case isImageReason(w.Reason):
			return &Problem{Kind: ProblemImage, Message: fmt.Sprintf("image %s: %s", s.Image, cmp.Or(w.Message, w.Reason)),
				Since: started(p)}
		case slices.Contains([]string{"CreateContainerConfigError", "CreateContainerError", "RunContainerError",
			"PostStartHookError"}, w.Reason):
			return &Problem{Kind: ProblemConfig,
				Message: fmt.Sprintf("container %s: %s", s.Name, cmp.Or(w.Message, w.Reason)),
				Since:   started(p)}
		case w.Reason == "CrashLoopBackOff":
			return crash(p, s, lastEnd(s))
		}
	}
	end := lastEnd(s)
	if s.Ready || end == nil || now.Sub(end.FinishedAt.Time) > crashMemory {
		return nil
	}
	if end.Reason == "OOMKilled" || (s.RestartCount >= crashes && end.ExitCode != 0) {
		return crash(p, s, end)
	}
	return nil
}

// isImageReason reports whether a container waits for its image.
func isImageReason(reason string) bool {
	switch reason {
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError",
		"RegistryUnavailable", "SignatureValidationFailed":
		return true
	}
	return false
}

// lastEnd is how the container last ended, nil if it never did.
func lastEnd(s *corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	if s.State.Terminated != nil {
		return s.State.Terminated
	}
	return s.LastTerminationState.Terminated
}

func crash(p *corev1.Pod, s *corev1.ContainerStatus, end *corev1.ContainerStateTerminated) *Problem {
	problem := &Problem{Kind: ProblemCrashing, Message: fmt.Sprintf("container %s restarted %d times", s.Name,
		s.RestartCount), Since: started(p)}
	// It is so since it was last ready, not since its last crash.
	if c := condition(p, corev1.PodReady); c != nil && c.LastTransitionTime.After(problem.Since) {
		problem.Since = c.LastTransitionTime.Time
	}
	if end == nil {
		return problem
	}
	if end.Reason == "OOMKilled" {
		problem.Kind = ProblemOOM
		problem.Message += ", killed because it ran out of memory"
		return problem
	}
	if strings.Contains(end.Message, noSpace) {
		problem.Kind = ProblemDisk
	}
	problem.Message += fmt.Sprintf(", last with exit code %d", end.ExitCode)
	if words := lastWords(end.Message); words != "" {
		problem.Message += ": " + words
	}
	return problem
}

// started is when the pod got its node, or was created.
func started(p *corev1.Pod) time.Time {
	if c := condition(p, corev1.PodScheduled); c != nil && c.Status == corev1.ConditionTrue {
		return c.LastTransitionTime.Time
	}
	return p.CreationTimestamp.Time
}
