package workload

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
)

// nonRoot is the user that distroless images call nonroot.
const nonRoot int64 = 65532

// ToolGroup is the group of this tool's own pods.
const ToolGroup = nonRoot

// PodSecurity satisfies the restricted Pod Security Standard for a user and a
// group of that ID; 0 is the user that distroless images call nonroot. The
// volume's group changes only where its root differs: walking a large volume at
// each start would cost minutes.
func PodSecurity(user int64) *corev1.PodSecurityContext {
	id, yes, policy := cmp.Or(user, nonRoot), true, corev1.FSGroupChangeOnRootMismatch
	return &corev1.PodSecurityContext{
		RunAsNonRoot: &yes, RunAsUser: &id, RunAsGroup: &id, FSGroup: &id, FSGroupChangePolicy: &policy,
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

// ContainerSecurity is what the Pod Security Standard "restricted" asks of a container.
func ContainerSecurity() *corev1.SecurityContext {
	yes, no := true, false
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes,
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

// ScratchVolume is a writable /tmp on an otherwise read-only root.
func ScratchVolume() (corev1.Volume, corev1.VolumeMount) {
	return corev1.Volume{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		corev1.VolumeMount{Name: "tmp", MountPath: "/tmp"}
}

// HelperContainer is a restricted container whose last output is its termination message.
func HelperContainer(name, image string, mounts []corev1.VolumeMount) corev1.Container {
	return corev1.Container{
		Name: name, Image: image, VolumeMounts: append([]corev1.VolumeMount(nil), mounts...),
		SecurityContext: ContainerSecurity(), TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
}

// ClaimVolume is read-only, where asked for, at the mount alone: not every
// driver lets a claim that is read-only as a whole be shared with its writer.
func ClaimVolume(name, claim string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}
}

// EmptyDir is a volume that lives as long as its pod.
func EmptyDir(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
}
