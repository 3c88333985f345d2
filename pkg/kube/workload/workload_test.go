package workload

import (
	"testing"

	"github.com/google/go-cmp/cmp"
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

// TestWitnessGivesWay: a witness wishes less to be alone than members that hold data, so these get the nodes first.
func TestWitnessGivesWay(t *testing.T) {
	weight := func(member string) int32 {
		in := testWorkloadInput()
		in.Member = member
		in.Cluster.Status.Bootstrap.Witnesses = []string{"db-3"}
		wish := Build(in).Spec.Template.Spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution
		return wish[0].Weight
	}
	if data, witness := weight("db-2"), weight("db-3"); witness >= data {
		t.Errorf("the witness wishes %d to be alone, and a member with data %d", witness, data)
	}
}

// TestBuildWorkloadOfAnEngineWithAnAgent: what the engine brings besides its
// container is part of the pod, and as restricted as the rest.
func TestBuildWorkloadOfAnEngineWithAnAgent(t *testing.T) {
	in := testWorkloadInput()
	in.Pod.User = 999
	in.Pod.Volumes = []corev1.Volume{EmptyDir("agent")}
	agent := corev1.VolumeMount{Name: "agent", MountPath: "/agent"}
	in.Pod.Init = []corev1.Container{{Name: "install", Image: "example.com/tool:v1",
		VolumeMounts: []corev1.VolumeMount{agent}}}
	in.Pod.Container.VolumeMounts = []corev1.VolumeMount{agent}
	spec := Build(in).Spec.Template.Spec
	if id := spec.SecurityContext; *id.RunAsUser != 999 || *id.RunAsGroup != 999 || *id.FSGroup != 999 {
		t.Errorf("it runs as %d:%d, and its volume is of group %d", *id.RunAsUser, *id.RunAsGroup, *id.FSGroup)
	}
	for _, c := range append(spec.InitContainers, spec.Containers...) {
		var mounted []string
		for _, m := range c.VolumeMounts {
			mounted = append(mounted, m.Name)
		}
		if diff := cmp.Diff([]string{"agent", "data", "tmp", "tls"}, mounted); diff != "" {
			t.Errorf("container %s mounts (-want +got):\n%s", c.Name, diff)
		}
		if c.SecurityContext == nil || *c.SecurityContext.AllowPrivilegeEscalation {
			t.Errorf("container %s is not restricted", c.Name)
		}
		if len(c.Resources.Requests) == 0 {
			t.Errorf("container %s has no requests: a quota would refuse the pod", c.Name)
		}
	}
	if len(spec.InitContainers) != 1 || len(spec.Volumes) != 4 {
		t.Errorf("%d init containers, %d volumes", len(spec.InitContainers), len(spec.Volumes))
	}
}
