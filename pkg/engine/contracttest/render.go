package contracttest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func rendering(t testing.TB, c Case) {
	for _, in := range inputs(c) {
		first := pod(t, c, in)
		if diff := cmp.Diff(first, pod(t, c, in)); diff != "" {
			t.Errorf("rendered twice: %s", diff)
		}
		if c := first.Container; c.Name == "" || c.Image != in.Image || first.DataPath == "" || first.GraceSeconds <= 0 {
			t.Errorf("pod %+v", first)
		}
		if s := first.Container.SecurityContext; s != nil && s.Privileged != nil && *s.Privileged {
			t.Error("the container is privileged")
		}
	}
	names := map[string]bool{}
	for _, p := range c.Engine.Ports(c.Cluster) {
		if p.Name == "" || names[p.Name] || p.Port <= 0 || p.TargetPort == (intstr.IntOrString{}) {
			t.Errorf("port %+v", p)
		}
		names[p.Name] = true
	}
	if !names["client"] {
		t.Error("there is no port for clients")
	}
}

func bootstrap(t testing.TB, c Case) {
	for _, in := range inputs(c) {
		template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{pod(t, c, in).Container}}}
		before := template.DeepCopy()
		sealed := c.Engine.DisableBootstrap(template)
		if diff := cmp.Diff(*before, template); diff != "" {
			t.Errorf("the argument was changed: %s", diff)
		}
		if !in.Bootstrap && cmp.Diff(template, sealed) != "" {
			t.Errorf("who joins was changed: %s", cmp.Diff(template, sealed))
		}
		if diff := cmp.Diff(sealed, c.Engine.DisableBootstrap(sealed)); diff != "" {
			t.Errorf("a repeat changes: %s", diff)
		}
	}
}
