package contracttest

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// restricted: a namespace that enforces the Pod Security Standard "restricted"
// accepts the pod, and its names don't meet those that are added to it.
func restricted(t testing.TB, c Case) {
	for _, in := range inputs(c) {
		p := pod(t, c, in)
		if p.User < 0 {
			t.Errorf("the pod runs as user %d", p.User)
		}
		containers := append(slices.Clone(p.Init), p.Container)
		names := map[string]bool{}
		for _, box := range containers {
			if names[box.Name] || box.Name == "" {
				t.Errorf("container %q is there twice, or has no name", box.Name)
			}
			names[box.Name] = true
			if box.SecurityContext != nil {
				t.Errorf("container %s brings a security context: it would be replaced", box.Name)
			}
			for _, port := range box.Ports {
				if port.HostPort != 0 {
					t.Errorf("container %s takes port %d of the node", box.Name, port.HostPort)
				}
			}
			for _, m := range box.VolumeMounts {
				if !slices.ContainsFunc(p.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name }) {
					t.Errorf("container %s mounts volume %s, which the pod does not have", box.Name, m.Name)
				}
			}
		}
		for _, v := range p.Volumes {
			if slices.Contains([]string{"data", "tls", "tmp"}, v.Name) {
				t.Errorf("the name of volume %s is taken", v.Name)
			}
			if v.EmptyDir == nil && v.Secret == nil && v.ConfigMap == nil {
				t.Errorf("volume %s is no empty directory, Secret or ConfigMap", v.Name)
			}
		}
	}
}
