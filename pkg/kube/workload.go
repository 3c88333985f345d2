package kube

import (
	"maps"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// WorkloadInput is what a member's workload is built from. The token is the
// cluster's present formation's.
type WorkloadInput struct {
	Cluster *v1alpha1.DatabaseCluster
	Member  string
	// Version that the pod's image is of.
	Version string
	// Settings is the digest of what decides how the process behaves.
	Settings string
	// Rendering is the digest of what every member of the cluster is rendered from; none is written for "".
	Rendering string
	// Bootstrap says that the rendered pod could found a cluster.
	Bootstrap bool
	// Renderer is the version of this tool.
	Renderer string
	// Pod is the engine's part.
	Pod engine.Pod
}

// BuildWorkload is a member's StatefulSet of one replica. A change of its
// template restarts nothing (OnDelete); the pod comes back by itself when it
// or its node dies.
func BuildWorkload(in WorkloadInput) *appsv1.StatefulSet {
	one, history := int32(1), int32(2)
	l := memberLabels(in.Cluster, in.Member)
	selector := maps.Clone(memberSelector(in.Cluster.Name))
	selector[v1alpha1.LabelMember] = in.Member
	l[labelVersion] = in.Version
	made := map[string]string{AnnotationVersion: in.Version, AnnotationSettings: in.Settings}
	if in.Rendering != "" {
		made[AnnotationRendering] = in.Rendering
	}
	meta := metaOf(in.Cluster, in.Member, l)
	meta.Annotations = merged(meta.Annotations, made)
	maps.Copy(meta.Annotations, map[string]string{
		AnnotationToken: token(in.Cluster), AnnotationBootstrap: strconv.FormatBool(in.Bootstrap), AnnotationRenderer: in.Renderer,
	})
	return &appsv1.StatefulSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
		ObjectMeta: meta,
		Spec: appsv1.StatefulSetSpec{
			Replicas: &one, ServiceName: v1alpha1.HeadlessService(in.Cluster.Name), RevisionHistoryLimit: &history,
			PodManagementPolicy: appsv1.ParallelPodManagement,
			UpdateStrategy:      appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
			Selector:            &metav1.LabelSelector{MatchLabels: selector},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: maps.Clone(l), Annotations: made},
				Spec:       memberPod(in),
			},
		},
	}
}

func memberPod(in WorkloadInput) corev1.PodSpec {
	no, grace := false, in.Pod.GraceSeconds
	container := *in.Pod.Container.DeepCopy()
	container.SecurityContext = containerSecurity()
	container.TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	if len(container.Resources.Requests) == 0 && len(container.Resources.Limits) == 0 {
		container.Resources = *in.Cluster.Spec.Resources.DeepCopy()
	}
	tmp, tmpMount := scratch()
	volumes := []corev1.Volume{
		{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: v1alpha1.VolumeName(in.Member)}}},
		tmp,
	}
	container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: "data", MountPath: in.Pod.DataPath}, tmpMount)
	if !in.Cluster.Spec.TLS.Disabled && in.Pod.TLSPath != "" {
		volumes = append(volumes, secretVolume("tls", v1alpha1.MemberSecret(in.Member)))
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: "tls", MountPath: in.Pod.TLSPath, ReadOnly: true})
	}
	return corev1.PodSpec{
		Containers: []corev1.Container{container}, Volumes: volumes, SecurityContext: podSecurity(), Affinity: spread(in.Cluster),
		TerminationGracePeriodSeconds: &grace, AutomountServiceAccountToken: &no, EnableServiceLinks: &no,
	}
}

// secretVolume is readable by the pod's group only.
func secretVolume(name, secret string) corev1.Volume {
	mode := int32(0o440)
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret, DefaultMode: &mode}}}
}

// spread keeps members on different nodes, as a wish or as a condition.
func spread(c *v1alpha1.DatabaseCluster) *corev1.Affinity {
	term := corev1.PodAffinityTerm{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: memberSelector(c.Name)}}
	if c.Spec.AntiAffinity == "Required" {
		return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term}}}
	}
	return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 100, PodAffinityTerm: term}},
	}}
}
