package observe

import (
	"cmp"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// PodFacts reads a member's pod; its first container is the database.
func PodFacts(p *corev1.Pod, now time.Time) Pod {
	f := Pod{
		Exists: true, Terminating: p.DeletionTimestamp != nil, UID: string(p.UID),
		Version: p.Annotations[kube.AnnotationVersion], Settings: p.Annotations[kube.AnnotationSettings],
		Rendering: p.Annotations[kube.AnnotationRendering], Revision: p.Labels[appsv1.ControllerRevisionHashLabelKey],
		Node: p.Spec.NodeName, IP: p.Status.PodIP, Created: p.CreationTimestamp.Time,
		Ready: conditionIs(p, corev1.PodReady, corev1.ConditionTrue), Problem: podProblem(p, now),
	}
	if len(p.Spec.Containers) > 0 {
		f.Image = p.Spec.Containers[0].Image
	}
	f.AgentImage = agentImage(p.Spec)
	if s := mainStatus(p); s != nil {
		f.Restarts, f.Running = s.RestartCount, s.State.Running != nil
		if f.Running {
			f.Started = s.State.Running.StartedAt.Time
		}
	}
	return f
}

// HelperFacts is what a helper pod says of itself.
func HelperFacts(p *corev1.Pod, now time.Time) Helper {
	f := Helper{Name: p.Name, UID: string(p.UID), Purpose: p.Labels[v1alpha1.LabelPurpose],
		Created: p.CreationTimestamp.Time, Terminating: p.DeletionTimestamp != nil, Node: p.Spec.NodeName,
		Done: p.Status.Phase == corev1.PodSucceeded, Failed: p.Status.Phase == corev1.PodFailed,
		Problem: podProblem(p, now)}
	for _, v := range p.Spec.Volumes {
		if v.PersistentVolumeClaim != nil {
			f.Claims = append(f.Claims, v.PersistentVolumeClaim.ClaimName)
		}
	}
	if s := mainStatus(p); s != nil {
		f.Running = s.State.Running != nil && p.DeletionTimestamp == nil
		if t := s.State.Terminated; t != nil {
			f.Message = t.Message
			if once := p.Spec.RestartPolicy == corev1.RestartPolicyNever; once && !f.Failed {
				served := len(p.Spec.Containers) == 2 && p.Spec.Containers[1].Name == kube.ContainerSidecar
				// The kubelet says a second later that the pod has succeeded.
				f.Done = f.Done || t.ExitCode == 0 && (served || len(p.Spec.Containers) == 1)
				f.Failed = t.ExitCode != 0 && served && !f.Terminating
			}
		}
	}
	if f.Failed && f.Message == "" {
		f.Message = cmp.Or(initMessage(p), p.Status.Message)
	}
	return f
}

// initMessage is what the init container left that kept the others from starting; "" if none did.
func initMessage(p *corev1.Pod) string {
	for _, s := range p.Status.InitContainerStatuses {
		if t := s.State.Terminated; t != nil && t.ExitCode != 0 {
			return t.Message
		}
	}
	return ""
}

func workloadFacts(w *appsv1.StatefulSet) Workload {
	f := Workload{
		Exists: true, Terminating: w.DeletionTimestamp != nil, UID: string(w.UID),
		Bootstrap: w.Annotations[kube.AnnotationBootstrap] == "true",
		Version:   w.Annotations[kube.AnnotationVersion], Settings: w.Annotations[kube.AnnotationSettings],
		Token: w.Annotations[kube.AnnotationToken], Renderer: w.Annotations[kube.AnnotationRenderer],
		Rendering: w.Annotations[kube.AnnotationRendering],
		Revision:  w.Status.UpdateRevision,
	}
	f.Idle = w.Spec.Replicas != nil && *w.Spec.Replicas == 0
	if c := w.Spec.Template.Spec.Containers; len(c) > 0 {
		f.Image = c[0].Image
	}
	f.AgentImage = agentImage(w.Spec.Template.Spec)
	return f
}

// agentImage is the image that the agent of a member comes from; "" if it has none.
func agentImage(spec corev1.PodSpec) string {
	for i := range spec.InitContainers {
		if spec.InitContainers[i].Name == v1alpha1.AgentContainer {
			return spec.InitContainers[i].Image
		}
	}
	return ""
}

// mainStatus is the status of the pod's first container, nil before it has one.
func mainStatus(p *corev1.Pod) *corev1.ContainerStatus {
	for i := range p.Status.ContainerStatuses {
		if len(p.Spec.Containers) > 0 && p.Status.ContainerStatuses[i].Name == p.Spec.Containers[0].Name {
			return &p.Status.ContainerStatuses[i]
		}
	}
	return nil
}

func condition(p *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == kind {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}

func conditionIs(p *corev1.Pod, kind corev1.PodConditionType, want corev1.ConditionStatus) bool {
	c := condition(p, kind)
	return c != nil && c.Status == want
}
