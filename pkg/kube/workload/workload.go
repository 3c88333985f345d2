// Package workload renders, applies and deletes the objects of a cluster:
// StatefulSets, volume claims, services, the disruption budget, the CronJob.
package workload

import (
	"context"
	"maps"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// Input is what a member's workload is built from. The token is the
// cluster's present formation's.
type Input struct {
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

// Build is a member's StatefulSet of one replica. A change of its
// template restarts nothing (OnDelete); the pod comes back by itself when it
// or its node dies.
func Build(in Input) *appsv1.StatefulSet {
	one, history := int32(1), int32(2)
	l := kube.MemberLabels(in.Cluster, in.Member)
	selector := maps.Clone(kube.MemberSelector(in.Cluster.Name))
	selector[v1alpha1.LabelMember] = in.Member
	l[kube.LabelVersion] = in.Version
	made := map[string]string{kube.AnnotationVersion: in.Version, kube.AnnotationSettings: in.Settings}
	if in.Rendering != "" {
		made[kube.AnnotationRendering] = in.Rendering
	}
	meta := kube.ObjectMeta(in.Cluster, in.Member, l)
	meta.Annotations = kube.Merged(meta.Annotations, made)
	maps.Copy(meta.Annotations, map[string]string{
		kube.AnnotationToken: kube.Token(in.Cluster), kube.AnnotationBootstrap: strconv.FormatBool(in.Bootstrap),
		kube.AnnotationRenderer: in.Renderer,
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

func memberPod(in Input) corev1.PodSpec {
	no, grace := false, in.Pod.GraceSeconds
	tmp, tmpMount := ScratchVolume()
	volumes := []corev1.Volume{
		{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{
			ClaimName: v1alpha1.VolumeName(in.Member)}}},
		tmp,
	}
	mounts := []corev1.VolumeMount{{Name: "data", MountPath: in.Pod.DataPath}, tmpMount}
	if !in.Cluster.Spec.TLS.Disabled && in.Pod.TLSPath != "" {
		volumes = append(volumes, secretVolume("tls", v1alpha1.MemberSecret(in.Member)))
		mounts = append(mounts, corev1.VolumeMount{Name: "tls", MountPath: in.Pod.TLSPath, ReadOnly: true})
	}
	volumes = append(volumes, in.Pod.Volumes...)
	var inits []corev1.Container
	for _, c := range in.Pod.Init {
		inits = append(inits, memberContainer(in, c, mounts))
	}
	return corev1.PodSpec{
		InitContainers: inits, Containers: []corev1.Container{memberContainer(in, in.Pod.Container, mounts)},
		Volumes: volumes, SecurityContext: PodSecurity(in.Pod.User),
		Affinity: spread(in), ServiceAccountName: in.Pod.Account,
		TerminationGracePeriodSeconds: &grace, AutomountServiceAccountToken: &no, EnableServiceLinks: &no,
	}
}

// memberContainer is a container of the engine with the mounts of its pod. It is
// restricted whatever the engine says, and has the cluster's resources if the
// engine names none: a quota of the namespace counts each container.
func memberContainer(in Input, c corev1.Container, mounts []corev1.VolumeMount) corev1.Container {
	container := *c.DeepCopy()
	container.SecurityContext = ContainerSecurity()
	container.TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	if len(container.Resources.Requests) == 0 && len(container.Resources.Limits) == 0 {
		container.Resources = *in.Cluster.Spec.Resources.DeepCopy()
	}
	container.VolumeMounts = append(container.VolumeMounts, mounts...)
	return container
}

// secretVolume is readable by the pod's group only.
func secretVolume(name, secret string) corev1.Volume {
	mode := int32(0o440)
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
		SecretName: secret, DefaultMode: &mode}}}
}

// Weights of the wish to be alone on a node. A witness wishes it less: where a pair has two nodes, the scheduler then
// puts the witness beside a member that holds data, in whatever order the pods come.
const (
	memberAlone  = 100
	witnessAlone = 1
)

// spread keeps members on different nodes, as a wish or as a condition.
func spread(in Input) *corev1.Affinity {
	term := corev1.PodAffinityTerm{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{
		MatchLabels: kube.MemberSelector(in.Cluster.Name)}}
	if in.Cluster.Spec.AntiAffinity == "Required" {
		return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term}}}
	}
	weight := int32(memberAlone)
	if f := in.Cluster.Status.Bootstrap; f != nil && slices.Contains(f.Witnesses, in.Member) {
		weight = witnessAlone
	}
	return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: weight,
			PodAffinityTerm: term}},
	}}
}

// noAccount is the account of a pod that asks for none. Its token is mounted nowhere.
const noAccount = "default"

// Applied is what the API server said of a workload after it was applied.
type Applied struct {
	// Observed is true once the workload's controller has seen this very
	// template: a pod deleted before may come back from the old one.
	Observed bool
}

// Apply makes or changes a member's workload; a running pod stays as
// it is. A repeat changes nothing.
func Apply(ctx context.Context, c *kube.Client, in Input) (Applied, error) {
	w := Build(in)
	if err := c.Apply(ctx, in.Cluster, w); err != nil {
		return Applied{}, err
	}
	if account := w.Spec.Template.Spec.ServiceAccountName; in.Pod.Account == "" && account != "" && account != noAccount {
		// The API server keeps a second field with the name of an account, which nobody applies, and takes the name from
		// there: so an account that is not named any more stays, and no pod is made once it is deleted.
		in.Pod.Account = noAccount
		w = Build(in)
		if err := c.Apply(ctx, in.Cluster, w); err != nil {
			return Applied{}, err
		}
	}
	return Applied{Observed: w.Status.ObservedGeneration >= w.Generation}, nil
}

// DisableBootstrap rewrites a member's template so that it can't found a cluster
// any more, and says so on the workload. It fails with ErrConflict if somebody
// writes at the same time; a repeat writes nothing.
func DisableBootstrap(ctx context.Context, c *kube.Client, namespace, member string,
	change func(corev1.PodTemplateSpec) corev1.PodTemplateSpec) error {
	live := &appsv1.StatefulSet{}
	if err := c.API.Get(ctx, client.ObjectKey{Namespace: namespace, Name: member}, live); err != nil {
		return err
	}
	if live.Annotations[kube.AnnotationBootstrap] == "false" {
		return nil
	}
	sealed := &appsv1.StatefulSet{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
		ObjectMeta: metav1.ObjectMeta{
			Name: live.Name, Namespace: live.Namespace, UID: live.UID, ResourceVersion: live.ResourceVersion,
			Labels: live.Labels, Annotations: kube.Merged(live.Annotations,
				map[string]string{kube.AnnotationBootstrap: "false"}),
		},
		Spec: *live.Spec.DeepCopy(),
	}
	sealed.Spec.Template = change(sealed.Spec.Template)
	return c.ServerSideApply(ctx, sealed)
}

// LabelPod gives a member's pod the labels by which services, the budget and
// its workload find it. A repeat changes nothing.
func LabelPod(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster, member string) error {
	p := &corev1.Pod{}
	if err := c.API.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: v1alpha1.PodName(member)},
		p); err != nil {
		return kube.IgnoreNotFound(err)
	}
	before := p.DeepCopy()
	p.Labels = kube.Merged(p.Labels, kube.Merged(kube.MemberSelector(cluster.Name),
		map[string]string{v1alpha1.LabelMember: member}))
	return kube.IgnoreNotFound(c.API.Patch(ctx, p, client.MergeFrom(before)))
}
