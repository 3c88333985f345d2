package helperpod

import (
	"context"
	"errors"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
)

// The bounds of a Job: how often its pod is made again, and how many seconds it stays after its end for who asks.
const (
	jobRetries int32 = 3
	jobStays   int32 = 3600
)

// finalCodes are the exit codes of this tool after which a repeat does not help: a refusal, and where a person is
// needed. 2 is not among them: the Go runtime ends so, too, when its process is told to end at its very beginning.
func finalCodes() []int32 { return []int32{4, 9} }

// Job is what is known of one.
type Job struct {
	Done, Failed bool
	// Why it failed, in the words of Kubernetes.
	Why string
	// Env is what its pods are told.
	Env map[string]string
	// Pod is the newest of its pods; nil before it has one.
	Pod *observe.Helper
}

// BuildJob is a Job whose pod is a helper: it goes on when this process dies, and begins again when its pod does.
func BuildJob(in Spec) *batchv1.Job {
	pod := Build(in)
	deadline, retries, stays := pod.Spec.ActiveDeadlineSeconds, jobRetries, jobStays
	pod.Spec.ActiveDeadlineSeconds = nil // that of the Job counts for all of its pods
	return &batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: pod.ObjectMeta,
		Spec: batchv1.JobSpec{
			BackoffLimit: &retries, ActiveDeadlineSeconds: deadline, TTLSecondsAfterFinished: &stays,
			PodFailurePolicy: &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
				// A drain of its node is no failure of the work.
				Action: batchv1.PodFailurePolicyActionIgnore,
				OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{
					Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
				}},
			}, {
				Action: batchv1.PodFailurePolicyActionFailJob,
				OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
					Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: finalCodes(),
				},
			}}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels, Annotations: pod.Annotations}, Spec: pod.Spec,
			},
		},
	}
}

// CreateJob starts a Job. One of that name that exists already is left as it is.
func CreateJob(ctx context.Context, c *kube.Client, in Spec) error {
	err := c.API.Create(ctx, BuildJob(in))
	if errors.Is(err, kube.ErrExists) {
		return nil
	}
	return err
}

// GetJob reads a Job and the newest of its pods; ErrNotFound if there is none.
func GetJob(ctx context.Context, c *kube.Client, namespace, name string) (Job, error) {
	j := &batchv1.Job{}
	if err := c.API.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, j); err != nil {
		return Job{}, err
	}
	out := Job{Env: map[string]string{}}
	for _, container := range j.Spec.Template.Spec.Containers {
		for _, e := range container.Env {
			out.Env[e.Name] = e.Value
		}
	}
	for _, condition := range j.Status.Conditions {
		if condition.Status != corev1.ConditionTrue {
			continue
		}
		switch condition.Type {
		case batchv1.JobComplete:
			out.Done = true
		case batchv1.JobFailed:
			out.Failed, out.Why = true, condition.Message
		}
	}
	pods := &corev1.PodList{}
	if err := c.API.List(ctx, pods, client.InNamespace(namespace),
		client.MatchingLabels{batchv1.JobNameLabel: name}); err != nil {
		return out, err
	}
	for i := range pods.Items {
		h := observe.HelperFacts(&pods.Items[i], c.Now())
		if out.Pod == nil || h.Created.After(out.Pod.Created) {
			out.Pod = &h
		}
		// The Job says so as well, some seconds later.
		out.Done = out.Done || h.Done
	}
	return out, nil
}

// JobRuns reports whether a Job, or a pod of it, is still there.
func JobRuns(ctx context.Context, c *kube.Client, namespace, name string) (bool, error) {
	if _, err := GetJob(ctx, c, namespace, name); !errors.Is(err, kube.ErrNotFound) {
		return err == nil, err
	}
	pods := &corev1.PodList{}
	err := c.API.List(ctx, pods, client.InNamespace(namespace), client.MatchingLabels{batchv1.JobNameLabel: name})
	return len(pods.Items) > 0, err
}

// DeleteJob ends a Job and its pods, and returns before they are gone. A Job of somebody else is refused with
// ErrForeign; a repeat does nothing.
func DeleteJob(ctx context.Context, c *kube.Client, namespace, name string) error {
	return remove(ctx, c, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}},
		client.PropagationPolicy(metav1.DeletePropagationBackground))
}
