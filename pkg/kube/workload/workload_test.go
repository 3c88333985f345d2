package workload

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
)

func testWorkloadInput() Input {
	return Input{
		Cluster: kubetest.Cluster(), Member: "db-2", Version: "3.6.16", Bootstrap: true, Renderer: "v1.2.3",
		Pod: kubetest.EnginePod(),
	}
}

func TestBuildWorkload(t *testing.T) {
	kubetest.Golden(t, "workload", Build(testWorkloadInput()))
}

func TestBuildWorkloadVariants(t *testing.T) {
	in := testWorkloadInput()
	in.Cluster.Spec.TLS.Disabled, in.Cluster.Spec.AntiAffinity, in.Bootstrap = true, "Required", false
	memory := in.Cluster.Spec.Resources.Requests.Memory()
	in.Pod.Container.Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: *memory}
	w := Build(in)
	spec := w.Spec.Template.Spec
	for _, v := range spec.Volumes {
		if v.Secret != nil {
			t.Errorf("plain text, but secret %s is mounted", v.Secret.SecretName)
		}
	}
	if a := spec.Affinity.PodAntiAffinity; len(a.RequiredDuringSchedulingIgnoredDuringExecution) != 1 ||
		len(a.PreferredDuringSchedulingIgnoredDuringExecution) != 0 {
		t.Errorf("affinity %+v, want required", a)
	}
	if w.Annotations[kube.AnnotationBootstrap] != "false" {
		t.Errorf("bootstrap annotation %q", w.Annotations[kube.AnnotationBootstrap])
	}
	if r := spec.Containers[0].Resources; len(r.Requests) != 0 || len(r.Limits) != 1 {
		t.Errorf("the engine's own resources were replaced: %+v", r)
	}
	if len(in.Pod.Container.VolumeMounts) != 0 {
		t.Error("the input was changed")
	}
}
