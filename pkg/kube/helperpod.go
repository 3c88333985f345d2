package kube

import (
	"fmt"
	"maps"
	"path"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// The values of LabelPurpose.
const (
	PurposeLoad       = "load"
	PurposeVerify     = "verify"
	PurposeRepository = "repository"
)

// HelperBinary is where a helper with InstallFrom finds this tool.
const HelperBinary = "/dbop/kubectl-dbop"

// helperDeadline ends an abandoned helper that was given no deadline.
const helperDeadline = time.Hour

// HelperSpec describes one of the tool's own pods.
type HelperSpec struct {
	Name    string
	Purpose string
	// Image that the main container runs.
	Image string
	// InstallFrom is the image of this tool. If set, the binary is copied to
	// HelperBinary first, because Image may hold neither it nor a shell.
	InstallFrom string
	Command     []string
	Args        []string
	Env         []corev1.EnvVar
	Claims      []ClaimMount
	// Secrets maps names of secrets to the directories where they appear.
	Secrets []SecretMount
	// Scratch lists directories that are empty, writable and gone afterwards.
	Scratch   []string
	Resources corev1.ResourceRequirements
	// Annotations of the pod, for example the version it runs.
	Annotations map[string]string
	// Deadline after which an abandoned helper ends by itself; an hour by default.
	Deadline time.Duration
	// GraceSeconds until a stopping pod is killed.
	GraceSeconds int64
}

// ClaimMount puts a claim, or a directory of it, into a helper.
type ClaimMount struct {
	Claim, MountPath, SubPath string
	ReadOnly                  bool
}

// SecretMount puts a secret into a helper.
type SecretMount struct{ Secret, MountPath string }

// BuildHelper is a pod that runs once. It is never a member: it lacks the
// labels that services, workloads and budgets select.
func BuildHelper(c *v1alpha1.DatabaseCluster, in HelperSpec) *corev1.Pod {
	no, grace := false, in.GraceSeconds
	deadline := int64(in.Deadline / time.Second)
	if deadline <= 0 {
		deadline = int64(helperDeadline / time.Second)
	}
	l := objectLabels(c, componentHelper)
	l[v1alpha1.LabelPurpose] = in.Purpose
	pod := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: in.Name, Namespace: c.Namespace, Labels: l, Annotations: maps.Clone(in.Annotations), OwnerReferences: owned(c)},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, ActiveDeadlineSeconds: &deadline, TerminationGracePeriodSeconds: &grace,
			AutomountServiceAccountToken: &no, EnableServiceLinks: &no, SecurityContext: podSecurity(),
		},
	}
	main := corev1.Container{
		Name: in.Purpose, Image: in.Image, Command: in.Command, Args: in.Args, Env: in.Env, Resources: in.Resources,
		SecurityContext: containerSecurity(), TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
	tmp, tmpMount := scratch()
	pod.Spec.Volumes, main.VolumeMounts = []corev1.Volume{tmp}, []corev1.VolumeMount{tmpMount}
	mount := func(v corev1.Volume, m corev1.VolumeMount) {
		m.Name = v.Name
		pod.Spec.Volumes, main.VolumeMounts = append(pod.Spec.Volumes, v), append(main.VolumeMounts, m)
	}
	for i, m := range in.Claims {
		mount(corev1.Volume{Name: fmt.Sprintf("claim-%d", i), VolumeSource: corev1.VolumeSource{
			// Read-only at the mount: a claim that is read-only as a whole can't be shared with its writer by every driver.
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: m.Claim},
		}}, corev1.VolumeMount{MountPath: m.MountPath, SubPath: m.SubPath, ReadOnly: m.ReadOnly})
	}
	for i, m := range in.Secrets {
		mount(secretVolume(fmt.Sprintf("secret-%d", i), m.Secret), corev1.VolumeMount{MountPath: m.MountPath, ReadOnly: true})
	}
	for i, dir := range in.Scratch {
		mount(emptyDir(fmt.Sprintf("scratch-%d", i)), corev1.VolumeMount{MountPath: dir})
	}
	if in.InstallFrom != "" {
		mount(emptyDir("dbop"), corev1.VolumeMount{MountPath: path.Dir(HelperBinary), ReadOnly: true})
		pod.Spec.InitContainers = []corev1.Container{installer(in.InstallFrom)}
	}
	pod.Spec.Containers = []corev1.Container{main}
	return pod
}

// installer copies this tool out of its image.
func installer(image string) corev1.Container {
	return corev1.Container{
		Name: "install", Image: image, Command: []string{"/usr/local/bin/kubectl-dbop", "agent", "install", "--to", HelperBinary},
		SecurityContext: containerSecurity(), TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		VolumeMounts: []corev1.VolumeMount{{Name: "dbop", MountPath: path.Dir(HelperBinary)}},
	}
}

func emptyDir(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
}
