package helperpod

import (
	"errors"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
)

func jobSpec() Spec {
	return Spec{Name: "db-20261123t101500z-0a1b", Namespace: "shop", Cluster: kubetest.Cluster(), Purpose: PurposeBackup,
		Image: "example.com/dbop:v1", Args: []string{"helper", "backup"}, Env: map[string]string{"DBOP_BACKUP": "{}"},
		Files: []Files{{Volume: corev1.Volume{Name: "repository"}, Path: "/etc/dbop/repository"},
			{Volume: corev1.Volume{Name: "staging"}, Path: "/staging", Writable: true}}}
}

// TestKilledPodBeginsAgain: neither a signal nor a drain ends a Job for good; 2 is how the Go runtime ends by one.
func TestKilledPodBeginsAgain(t *testing.T) {
	t.Parallel()
	rules := BuildJob(jobSpec()).Spec.PodFailurePolicy.Rules
	if rules[0].Action != batchv1.PodFailurePolicyActionIgnore ||
		rules[0].OnPodConditions[0].Type != corev1.DisruptionTarget {
		t.Errorf("%+v", rules[0])
	}
	for _, code := range []int32{0, 1, 2, 137, 143} {
		if slices.Contains(rules[1].OnExitCodes.Values, code) {
			t.Errorf("exit code %d ends it", code)
		}
	}
}

// TestBuildJob: its pod can ask nothing of the API, and what it is given it can't change.
func TestBuildJob(t *testing.T) {
	t.Parallel()
	j := BuildJob(jobSpec())
	pod := j.Spec.Template.Spec
	if token := pod.AutomountServiceAccountToken; token == nil || *token || pod.ServiceAccountName != "" {
		t.Error("its pod has a token")
	}
	if pod.RestartPolicy != corev1.RestartPolicyNever || pod.ActiveDeadlineSeconds != nil ||
		j.Spec.ActiveDeadlineSeconds == nil {
		t.Errorf("%+v", j.Spec)
	}
	writable := map[string]bool{}
	for _, m := range pod.Containers[0].VolumeMounts {
		writable[m.Name] = !m.ReadOnly
	}
	if writable["repository"] || !writable["staging"] {
		t.Errorf("mounts: %+v", pod.Containers[0].VolumeMounts)
	}
}

func TestGetJob(t *testing.T) {
	t.Parallel()
	c, api := kubetest.New(t, interceptor.Funcs{})
	in := jobSpec()
	if _, err := GetJob(t.Context(), c, in.Namespace, in.Name); !errors.Is(err, kube.ErrNotFound) {
		t.Errorf("none yet: %v", err)
	}
	for range 2 {
		if err := CreateJob(t.Context(), c, in); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := GetJob(t.Context(), c, in.Namespace, in.Name); err != nil || got.Done || got.Failed || got.Pod != nil {
		t.Errorf("%+v, %v", got, err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: in.Namespace, Name: in.Name + "-x",
		Labels: map[string]string{batchv1.JobNameLabel: in.Name}}, Spec: corev1.PodSpec{Containers: []corev1.Container{
		{Name: "backup"}}}}
	pod.Status.Phase = corev1.PodFailed
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "backup",
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: "the disk is full"}}}}
	if err := api.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	j := &batchv1.Job{}
	if err := api.Get(t.Context(), client.ObjectKey{Namespace: in.Namespace, Name: in.Name}, j); err != nil {
		t.Fatal(err)
	}
	j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue,
		Message: "too often"}}
	if err := api.Status().Update(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	got, err := GetJob(t.Context(), c, in.Namespace, in.Name)
	if err != nil || !got.Failed || got.Why != "too often" || got.Pod == nil || got.Pod.Message != "the disk is full" {
		t.Errorf("%+v, %v", got, err)
	}
	for range 2 {
		if runs, err := JobRuns(t.Context(), c, in.Namespace, in.Name); !runs || err != nil {
			t.Errorf("its pod is there: %v, %v", runs, err)
		}
		if err := DeleteJob(t.Context(), c, in.Namespace, in.Name); err != nil {
			t.Error(err)
		}
	}
	if err := api.Delete(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	if runs, err := JobRuns(t.Context(), c, in.Namespace, in.Name); runs || err != nil {
		t.Errorf("after all of it is gone: %v, %v", runs, err)
	}
	other := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: in.Namespace, Name: in.Name}}
	if err := api.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if err := DeleteJob(t.Context(), c, in.Namespace, in.Name); !errors.Is(err, kube.ErrForeign) {
		t.Errorf("somebody else's: %v", err)
	}
}

// TestJobOfPodThatEnded: the success of its pod is that of the Job, which Kubernetes says some seconds later.
func TestJobOfPodThatEnded(t *testing.T) {
	t.Parallel()
	c, api := kubetest.New(t, interceptor.Funcs{})
	in := jobSpec()
	if err := CreateJob(t.Context(), c, in); err != nil {
		t.Fatal(err)
	}
	for name, phase := range map[string]corev1.PodPhase{"-a": corev1.PodFailed, "-b": corev1.PodRunning} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: in.Namespace, Name: in.Name + name,
			Labels: map[string]string{batchv1.JobNameLabel: in.Name}}, Status: corev1.PodStatus{Phase: phase}}
		if err := api.Create(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := GetJob(t.Context(), c, in.Namespace, in.Name); err != nil || got.Done {
		t.Errorf("while it runs: %+v, %v", got, err)
	}
	pod := &corev1.Pod{}
	if err := api.Get(t.Context(), client.ObjectKey{Namespace: in.Namespace, Name: in.Name + "-b"}, pod); err != nil {
		t.Fatal(err)
	}
	pod.Status.Phase = corev1.PodSucceeded
	if err := api.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	if got, err := GetJob(t.Context(), c, in.Namespace, in.Name); err != nil || !got.Done || got.Failed {
		t.Errorf("after its pod: %+v, %v", got, err)
	}
}
