package observe

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
)

func TestPodFacts(t *testing.T) {
	got := PodFacts(testPod(restarted(2, corev1.ContainerStateTerminated{FinishedAt: ago(time.Hour)})), kubetest.Noon())
	want := Pod{Exists: true, Running: true, Ready: true, UID: "pod-uid", Image: "etcd:3.6.16", Version: "3.6.16",
		Node: "node-1", IP: "10.0.0.1", Restarts: 2, Created: kubetest.Noon().Add(-time.Hour)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
}

func TestHelperFacts(t *testing.T) {
	ended := func(phase corev1.PodPhase, message string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Phase = phase
			p.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				Message: message, FinishedAt: ago(time.Hour)}}
			p.Status.ContainerStatuses[0].Ready = false
		}
	}
	purpose := func(p *corev1.Pod) { p.Labels[v1alpha1.LabelPurpose] = "load" }
	once := func(p *corev1.Pod) { p.Spec.RestartPolicy = corev1.RestartPolicyNever }
	code := func(p *corev1.Pod) { p.Status.ContainerStatuses[0].State.Terminated.ExitCode = 1 }
	two := func(p *corev1.Pod) { p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "other"}) }
	served := func(p *corev1.Pod) {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: kube.ContainerSidecar})
	}
	base := Helper{Name: "db-1-0", UID: "pod-uid", Purpose: "load", Created: testPod().CreationTimestamp.Time,
		Node: "node-1"}
	running, stopping, done, failed, expired := base, base, base, base, base
	stopping.Terminating = true
	running.Running = true
	done.Done = true
	failed.Failed, failed.Message = true, "no space"
	expired.Failed, expired.Message = true, "Pod was active on the node longer than the specified deadline"
	tests := []struct {
		name string
		pod  *corev1.Pod
		want Helper
	}{
		{"running", testPod(purpose), running},
		{"stopping", testPod(purpose, deleted(0)), stopping},
		{"done", testPod(purpose, ended(corev1.PodSucceeded, "")), done},
		{"done, and its pod not yet", testPod(purpose, once, ended(corev1.PodRunning, "")), done},
		{"done, and starts again", testPod(purpose, ended(corev1.PodRunning, "")), base},
		{"done, one of two", testPod(purpose, once, two, ended(corev1.PodRunning, "")), base},
		{"failed, and its pod not yet", testPod(purpose, once, ended(corev1.PodRunning, ""), code), base},
		{"done, and what serves it goes on", testPod(purpose, once, served, ended(corev1.PodRunning, "")), done},
		{"failed, and what serves it goes on", testPod(purpose, once, served, ended(corev1.PodRunning, "no space"), code),
			failed},
		{"failed", testPod(purpose, ended(corev1.PodFailed, "no space")), failed},
		{"abandoned", testPod(purpose, ended(corev1.PodFailed, ""),
			func(p *corev1.Pod) { p.Status.Message = expired.Message }), expired},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, HelperFacts(tt.pod, kubetest.Noon())); diff != "" {
				t.Errorf("facts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWorkloadFactsReadBackWhatIsBuilt(t *testing.T) {
	want := Workload{Exists: true, Bootstrap: true, Image: "example.com/etcd:v3.6.16", Version: "3.6.16",
		Token:    "token-1",
		Renderer: "v1.2.3"}
	if diff := cmp.Diff(want, workloadFacts(workload.Build(memberInput()))); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
}
