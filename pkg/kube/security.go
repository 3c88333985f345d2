package kube

import (
	corev1 "k8s.io/api/core/v1"
)

// nonRoot is the user that distroless images call nonroot.
const nonRoot int64 = 65532

// podSecurity satisfies the restricted Pod Security Standard. The volume's
// group changes only where its root differs: walking a large volume at each
// start would cost minutes.
func podSecurity() *corev1.PodSecurityContext {
	id, yes, policy := nonRoot, true, corev1.FSGroupChangeOnRootMismatch
	return &corev1.PodSecurityContext{
		RunAsNonRoot: &yes, RunAsUser: &id, RunAsGroup: &id, FSGroup: &id, FSGroupChangePolicy: &policy,
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

func containerSecurity() *corev1.SecurityContext {
	yes, no := true, false
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes,
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

// scratch is a writable /tmp on an otherwise read-only root.
func scratch() (corev1.Volume, corev1.VolumeMount) {
	return corev1.Volume{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		corev1.VolumeMount{Name: "tmp", MountPath: "/tmp"}
}
