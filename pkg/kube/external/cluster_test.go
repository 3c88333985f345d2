package external

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestSecretAt(t *testing.T) {
	t.Parallel()
	p := Pod{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "db", VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"},
			{Name: "tls", MountPath: "/certs/"}, {Name: "all", MountPath: "/all"},
			{Name: "tls", MountPath: "/one/ca.pem", SubPath: "ca.crt"}}}},
		Volumes: []corev1.Volume{
			{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "tls", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s"}}},
			{Name: "all", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
				Sources: []corev1.VolumeProjection{{ConfigMap: &corev1.ConfigMapProjection{}},
					{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "p"},
						Items: []corev1.KeyToPath{{Key: "authority", Path: "ca.crt"}}}}}}}},
		},
	}}
	for file, want := range map[string]SecretKey{"/certs/tls.crt": {"s", "tls.crt"}, "/all/ca.crt": {"p", "authority"},
		"/all/other": {}, "/data/tls.crt": {}, "": {}, "/elsewhere": {}} {
		if got, ok := p.SecretAt("db", file); got != want && ok || ok != (want != SecretKey{}) {
			t.Errorf("%q is in %+v (%v), want %+v", file, got, ok, want)
		}
	}
	if got, ok := p.SecretAt("other", "/certs/tls.crt"); ok {
		t.Errorf("another container sees %+v", got)
	}
}
