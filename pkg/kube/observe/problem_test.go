package observe

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(kubetest.Noon().Add(-d)) }

// testPod was created an hour and scheduled 50 minutes ago.
func testPod(changes ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db-1-0", UID: "pod-uid", CreationTimestamp: ago(time.Hour),
			Labels:      kube.MemberLabels(kubetest.Cluster(), "db-1"),
			Annotations: map[string]string{kube.AnnotationVersion: "3.6.16"}},
		Spec: corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{{Name: "etcd", Image: "etcd:3.6.16"}}},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: "10.0.0.1",
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: ago(50 * time.Minute)},
				{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: ago(40 * time.Minute)},
				{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: ago(40 * time.Minute)},
			},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "etcd", Image: "etcd:3.6.16", Ready: true,
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}},
		},
	}
	for _, change := range changes {
		change(p)
	}
	return p
}

func unready(since time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		for _, i := range []int{1, 2} {
			p.Status.Conditions[i].Status, p.Status.Conditions[i].LastTransitionTime = corev1.ConditionFalse, ago(since)
		}
		p.Status.ContainerStatuses[0].Ready = false
	}
}

func waiting(reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason,
			Message: message}}
	}
}

func restarted(count int32, last corev1.ContainerStateTerminated) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses[0].RestartCount = count
		p.Status.ContainerStatuses[0].LastTerminationState.Terminated = &last
	}
}

func unscheduled(message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.NodeName = ""
		p.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: message,
				LastTransitionTime: ago(time.Minute)}}}
	}
}

func deleted(since time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) { at := ago(since); p.DeletionTimestamp = &at }
}

func TestPodProblem(t *testing.T) {
	full := corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error",
		Message:    "cannot write: no space left on device",
		FinishedAt: ago(time.Minute)}
	failed := corev1.ContainerStateTerminated{ExitCode: 2, Reason: "Error", Message: "starting\n{\"msg\":\"bad flag\"}\n",
		FinishedAt: ago(time.Minute)}
	killed := corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled", FinishedAt: ago(time.Minute)}
	old := failed
	old.FinishedAt = ago(time.Hour)
	minute := kubetest.Noon().Add(-time.Minute)
	tests := []struct {
		name string
		pod  *corev1.Pod
		want *Problem
	}{
		{"fine", testPod(), nil},
		{"unschedulable", testPod(unscheduled("0/2 nodes are available: 2 Insufficient memory.")),
			&Problem{ProblemUnschedulable, "0/2 nodes are available: 2 Insufficient memory.", minute, time.Time{}}},
		{"volume on a node that is gone", testPod(unscheduled("0/1 nodes are available: 1 node(s) didn't match " +
			"PersistentVolume's node affinity. no new claims to deallocate")),
			&Problem{ProblemNode, "its volume is on a node that is not there any more: 0/1 nodes are available: 1 node(s) " +
				"didn't match PersistentVolume's node affinity. no new claims to deallocate", minute, time.Time{}}},
		{"volume on a node that is cordoned",
			testPod(unscheduled("0/2 nodes are available: 1 node(s) were unschedulable, " +
				"1 node(s) had volume node affinity conflict.")),
			&Problem{ProblemUnschedulable,
				"0/2 nodes are available: 1 node(s) were unschedulable, 1 node(s) had volume node " +
					"affinity conflict.", minute, time.Time{}}},
		{"volume on a node without room",
			testPod(unscheduled("0/2 nodes are available: 1 node(s) had volume node affinity " +
				"conflict, 1 Insufficient memory.")),
			&Problem{ProblemUnschedulable, "0/2 nodes are available: 1 node(s) had volume node affinity conflict, 1 " +
				"Insufficient memory.", minute, time.Time{}}},
		{"image", testPod(unready(time.Hour), waiting("ImagePullBackOff", "Back-off pulling image")), &Problem{ProblemImage,
			"image etcd:3.6.16: Back-off pulling image", kubetest.Noon().Add(-50 * time.Minute), time.Time{}}},
		{"invalid image name", testPod(unready(time.Hour), waiting("InvalidImageName", "")), &Problem{ProblemImage,
			"image etcd:3.6.16: InvalidImageName", kubetest.Noon().Add(-50 * time.Minute), time.Time{}}},
		{"configuration", testPod(unready(time.Hour), waiting("CreateContainerConfigError", `secret "x" not found`)),
			&Problem{ProblemConfig, `container etcd: secret "x" not found`, kubetest.Noon().Add(-50 * time.Minute),
				time.Time{}}},
		{"starting", testPod(unready(time.Hour), waiting("ContainerCreating", "")), nil},
		{"crash loop", testPod(unready(10*time.Minute), waiting("CrashLoopBackOff", "back-off 5m0s"), restarted(6, failed)),
			&Problem{ProblemCrashing, `container etcd restarted 6 times, last with exit code 2: bad flag`,
				kubetest.Noon().Add(-10 * time.Minute), time.Time{}}},
		{"crash loop that runs at the moment", testPod(unready(10*time.Minute), restarted(6, failed)),
			&Problem{ProblemCrashing, `container etcd restarted 6 times, last with exit code 2: bad flag`,
				kubetest.Noon().Add(-10 * time.Minute), time.Time{}}},
		{"one crash is none", testPod(unready(10*time.Minute), restarted(1, failed)), nil},
		{"crashes of long ago", testPod(unready(10*time.Minute), restarted(6, old)), nil},
		{"crashes, but ready since", testPod(restarted(6, failed)), nil},
		{"memory", testPod(unready(10*time.Minute), restarted(1, killed)),
			&Problem{ProblemOOM, "container etcd restarted " +
				"1 times, killed because it ran out of memory", kubetest.Noon().Add(-10 * time.Minute), time.Time{}}},
		{"memory in a loop", testPod(unready(10*time.Minute), waiting("CrashLoopBackOff", ""), restarted(4, killed)),
			&Problem{ProblemOOM, "container etcd restarted 4 times, killed because it ran out of memory",
				kubetest.Noon().Add(-10 * time.Minute), time.Time{}}},
		{"disk", testPod(unready(10*time.Minute), waiting("CrashLoopBackOff", ""), restarted(4, full)),
			&Problem{ProblemDisk, "container etcd restarted 4 times, last with exit code 1: cannot write: no space left on " +
				"device", kubetest.Noon().Add(-10 * time.Minute), time.Time{}}},
		{"node lost", testPod(func(p *corev1.Pod) {
			p.Status.Conditions[2].Status, p.Status.Conditions[2].LastTransitionTime = corev1.ConditionFalse, ago(time.Minute)
		}), &Problem{ProblemNode, "node node-1 is not ready", minute, time.Time{}}},
		{"not ready by its probe", testPod(unready(time.Minute)), nil},
		{"stopping", testPod(deleted(0)), nil},
		{"stopping for ever", testPod(deleted(5 * time.Minute)),
			&Problem{ProblemNode, "node node-1 does not confirm that " +
				"the pod ended", kubetest.Noon().Add(-5 * time.Minute), time.Time{}}},
		{"an init container's image", testPod(unready(time.Hour), func(p *corev1.Pod) {
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "install", Image: "dbop:v1",
				State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull",
					Message: "not found"}}}}
		}), &Problem{ProblemImage, "image dbop:v1: not found", kubetest.Noon().Add(-50 * time.Minute), time.Time{}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, podProblem(tt.pod, kubetest.Noon())); diff != "" {
				t.Errorf("problem (-want +got):\n%s", diff)
			}
		})
	}
}
