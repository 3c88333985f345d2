package helperpod

import (
	"maps"
	"path"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
)

// The values of LabelPurpose.
const (
	PurposeLoad       = "load"
	PurposeVerify     = "verify"
	PurposeRepository = "repository"
	PurposeExamine    = "examine"
	PurposeRecover    = "recover"
	PurposeMeasure    = "measure"
	PurposeBackup     = "backup"
	PurposeProve      = "prove"
	PurposeArchive    = "archive"
)

// InstalledBinary is where a helper with InstallFrom finds this tool.
const InstalledBinary = "/dbop/kubectl-dbop"

// helperLife ends an abandoned helper that was given no deadline.
const helperLife = 2 * time.Hour

// Spec describes one of the tool's own pods.
type Spec struct {
	Name, Namespace string
	// Cluster that it serves and is deleted with; nil for none.
	Cluster *v1alpha1.DatabaseCluster
	Purpose string
	// Image that the container runs.
	Image string
	// InstallFrom is the image of this tool. If set, the binary is copied to
	// InstalledBinary first, because Image may hold neither it nor a shell.
	InstallFrom   string
	Command, Args []string
	// Former is a container that leaves files for Command.
	Former *Former
	// MountPath is where the claim, or SubPath of it, appears; without a claim
	// an empty directory that goes with the pod; "" for nothing.
	MountPath, Claim, SubPath string
	ReadOnly                  bool
	// User is the ID that owns the data, as in engine.Pod; 0 is the tool's own.
	User int64
	// Node is where the pod runs, for a claim that a pod there has mounted; "" for any.
	Node string
	// SameNode is a claim among Files, or Claim, that one node alone can mount: the pod runs where others that mount it
	// do. "" for any node.
	SameNode string
	// SourceClaim appears read-only at SourcePath, for Command alone: Then
	// can't reach it. "" for none.
	SourceClaim, SourcePath string
	// Files are volumes that appear to Command alone, such as secrets.
	Files []Files
	// ToolGroup adds the group of this tool's own user to those of the pod: it may read what pods of the tool store.
	ToolGroup bool
	// Sidecar runs beside Command until the pod is deleted. The helper ends when Command does.
	Sidecar *Sidecar
	// Env of Command. It holds no secret.
	Env map[string]string
	// Then is the container that runs, on the same data, once Command has
	// succeeded. The helper counts as running when this one does.
	Then *corev1.Container
	// ThenInit run between the two, with the mounts of Then. ThenVolumes are what these and Then mount besides.
	ThenInit    []corev1.Container
	ThenVolumes []corev1.Volume
	Resources   corev1.ResourceRequirements
	// Annotations of the pod, for example the version it runs.
	Annotations map[string]string
	// Deadline, of the pod or of its Job, after which an abandoned helper ends by itself; two hours by default.
	Deadline time.Duration
	// GraceSeconds until a stopping pod is killed.
	GraceSeconds int64
}

// Former runs in another image before a helper, whose InstalledBinary it has. Both have an empty directory at Path.
type Former struct {
	Image, Path string
	Command     []string
}

// Sidecar serves files to a helper that may not read them itself: it runs as the tool's own user.
type Sidecar struct {
	Image string
	Args  []string
	// Files appear read-only, whatever they say: the kubelet gives their volume to no other group then.
	Files Files
}

// Files is a volume, or SubPath of it, and where it appears.
type Files struct {
	Volume        corev1.Volume
	Path, SubPath string
	Writable      bool
}

// Build is a pod that runs once. It is never a member: it lacks the
// labels that services, workloads and budgets select.
func Build(in Spec) *corev1.Pod {
	no, grace := false, in.GraceSeconds
	life := in.Deadline
	if life < time.Second {
		life = helperLife
	}
	deadline := int64(life / time.Second)
	pod := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: in.Name, Namespace: in.Namespace, Labels: helperLabels(in),
			Annotations: maps.Clone(in.Annotations)},
		Spec: corev1.PodSpec{
			NodeName: in.Node, RestartPolicy: corev1.RestartPolicyNever, ActiveDeadlineSeconds: &deadline,
			TerminationGracePeriodSeconds: &grace,
			AutomountServiceAccountToken:  &no, EnableServiceLinks: &no, SecurityContext: workload.PodSecurity(in.User),
		},
	}
	if in.Cluster != nil && in.Cluster.Status.ID != "" {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, kube.AnnotationClusterID, in.Cluster.Status.ID)
	}
	if in.ToolGroup {
		pod.Spec.SecurityContext.SupplementalGroups = []int64{workload.ToolGroup}
	}
	if in.SameNode != "" {
		workload.SameNode(&pod.ObjectMeta, &pod.Spec, in.SameNode)
	}
	var mounts []corev1.VolumeMount
	pod.Spec.Volumes, mounts = helperVolumes(in)
	first := workload.HelperContainer(in.Purpose, in.Image, mounts)
	if in.SourceClaim != "" {
		pod.Spec.Volumes = append(pod.Spec.Volumes, workload.ClaimVolume("source", in.SourceClaim))
		first.VolumeMounts = append(first.VolumeMounts, corev1.VolumeMount{Name: "source", MountPath: in.SourcePath,
			ReadOnly: true})
	}
	for _, f := range in.Files {
		pod.Spec.Volumes = append(pod.Spec.Volumes, f.Volume)
		first.VolumeMounts = append(first.VolumeMounts, corev1.VolumeMount{Name: f.Volume.Name, MountPath: f.Path,
			SubPath: f.SubPath, ReadOnly: !f.Writable})
	}
	for _, name := range slices.Sorted(maps.Keys(in.Env)) {
		first.Env = append(first.Env, corev1.EnvVar{Name: name, Value: in.Env[name]})
	}
	first.Command, first.Args, first.Resources = in.Command, in.Args, in.Resources
	if in.InstallFrom != "" {
		pod.Spec.Volumes = append(pod.Spec.Volumes, workload.EmptyDir("dbop"))
		install := workload.HelperContainer("install", in.InstallFrom,
			[]corev1.VolumeMount{{Name: "dbop", MountPath: path.Dir(InstalledBinary)}})
		install.Command = []string{"/usr/local/bin/kubectl-dbop", "helper", "install", "--to", InstalledBinary}
		first.VolumeMounts = append(first.VolumeMounts,
			corev1.VolumeMount{Name: "dbop", MountPath: path.Dir(InstalledBinary),
				ReadOnly: true})
		pod.Spec.InitContainers = []corev1.Container{install}
	}
	if in.Former != nil {
		addFormer(&pod.Spec, &first, *in.Former)
	}
	if in.Then == nil {
		pod.Spec.Containers = []corev1.Container{first}
		if in.Sidecar != nil {
			addSidecar(&pod.Spec, *in.Sidecar)
		}
		return pod
	}
	pod.Spec.Volumes = append(pod.Spec.Volumes, in.ThenVolumes...)
	pod.Spec.InitContainers = append(pod.Spec.InitContainers, first)
	for _, c := range in.ThenInit {
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, engineContainer(c, mounts))
	}
	pod.Spec.Containers = []corev1.Container{engineContainer(*in.Then, mounts)}
	return pod
}

func addSidecar(pod *corev1.PodSpec, in Sidecar) {
	volume := *in.Files.Volume.DeepCopy()
	if volume.PersistentVolumeClaim != nil {
		volume.PersistentVolumeClaim.ReadOnly = true
	}
	pod.Volumes = append(pod.Volumes, volume)
	c := workload.HelperContainer(kube.ContainerSidecar, in.Image, []corev1.VolumeMount{{Name: volume.Name,
		MountPath: in.Files.Path, SubPath: in.Files.SubPath, ReadOnly: true}})
	own := workload.PodSecurity(0)
	c.Args, c.SecurityContext.RunAsUser, c.SecurityContext.RunAsGroup = in.Args, own.RunAsUser, own.RunAsGroup
	pod.Containers = append(pod.Containers, c)
}

// addFormer adds the container, and shows first what it leaves.
func addFormer(pod *corev1.PodSpec, first *corev1.Container, in Former) {
	pod.Volumes = append(pod.Volumes, workload.EmptyDir("former"))
	mount := corev1.VolumeMount{Name: "former", MountPath: in.Path}
	container := workload.HelperContainer("former", in.Image, []corev1.VolumeMount{mount,
		{Name: "dbop", MountPath: path.Dir(InstalledBinary), ReadOnly: true}})
	container.Command = in.Command
	pod.InitContainers = append(pod.InitContainers, container)
	mount.ReadOnly = true
	first.VolumeMounts = append(first.VolumeMounts, mount)
}

// engineContainer is restricted whatever the engine says.
func engineContainer(c corev1.Container, mounts []corev1.VolumeMount) corev1.Container {
	out := *c.DeepCopy()
	out.VolumeMounts = append(out.VolumeMounts, mounts...)
	out.SecurityContext, out.TerminationMessagePolicy = workload.ContainerSecurity(),
		corev1.TerminationMessageFallbackToLogsOnError
	return out
}

func helperLabels(in Spec) map[string]string {
	l := map[string]string{kube.LabelName: v1alpha1.FieldManager, kube.LabelComponent: kube.ComponentHelper,
		kube.LabelManagedBy: v1alpha1.FieldManager}
	if in.Cluster != nil {
		l = kube.ObjectLabels(in.Cluster, kube.ComponentHelper)
	}
	l[v1alpha1.LabelPurpose] = in.Purpose
	return l
}

func helperVolumes(in Spec) ([]corev1.Volume, []corev1.VolumeMount) {
	tmp, tmpMount := workload.ScratchVolume()
	if in.MountPath == "" {
		return []corev1.Volume{tmp}, []corev1.VolumeMount{tmpMount}
	}
	data := workload.EmptyDir("data")
	if in.Claim != "" {
		data = workload.ClaimVolume("data", in.Claim)
	}
	return []corev1.Volume{data, tmp}, []corev1.VolumeMount{{Name: "data", MountPath: in.MountPath, SubPath: in.SubPath,
		ReadOnly: in.ReadOnly}, tmpMount}
}
