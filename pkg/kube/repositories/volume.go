package repositories

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
)

// volumeMode lets the pod's group read.
const volumeMode int32 = 0o440

// Volume has all files of a repository in one directory, for a pod that has no right to the API. identity adds what
// it takes to read what is encrypted.
func Volume(volume string, d bucket.Description, identity bool) corev1.Volume {
	mode := volumeMode
	projected := &corev1.ProjectedVolumeSource{DefaultMode: &mode, Sources: []corev1.VolumeProjection{{
		ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: name(v1alpha1.Repository(d.Name)),
			Items: items([]string{bucket.FileDescription})},
	}}}
	for _, s := range sources(d, identity) {
		projected.Sources = append(projected.Sources, corev1.VolumeProjection{Secret: &corev1.SecretProjection{
			LocalObjectReference: name(s.secret), Items: items(s.keys), Optional: new(true),
		}})
	}
	return corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{Projected: projected}}
}

func name(n string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: n} }

// items are keys as files of the same names. Those that a Secret lacks are left out, as Optional says.
func items(keys []string) []corev1.KeyToPath {
	out := make([]corev1.KeyToPath, len(keys))
	for i, k := range keys {
		out[i] = corev1.KeyToPath{Key: k, Path: k}
	}
	return out
}
