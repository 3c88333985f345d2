package workload

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// PurposeBackup marks the pods that take scheduled backups.
const PurposeBackup = "backup"

// EnvMounted names, as "URL=DIRECTORY", a repository whose claim is mounted
// into this very pod, so that no helper pod is needed.
const EnvMounted = "DBOP_MOUNTED_REPOSITORY"

// MountedAt is where a scheduled backup finds its repository.
const MountedAt = "/repository"

// The bounds of a scheduled backup: how late it may begin, how long one try
// waits for other operations and how long it takes, how long all tries
// together, and how often it is tried again. A try has the whole time of a
// stream, and the others what an early failure leaves: nothing begins beside
// it, and who waits for the next run is told by status.
const (
	scheduleLate    = time.Hour
	schedulePatient = 30 * time.Minute
	scheduleTry     = LongestStream
	scheduleTotal   = LongestStream + 2*time.Hour
	scheduleRetries = 2
	scheduleHistory = 3
)

// CancelledCode is the exit code of a command whose operation somebody cancelled. A scheduled backup that ends with it
// is not tried again: the next run is that of the schedule.
const CancelledCode = 12

// ScheduleInput is what the objects of a schedule are made of.
type ScheduleInput struct {
	Cluster *v1alpha1.DatabaseCluster
	Policy  v1alpha1.BackupPolicy
	// Claim and SubPath are what the policy's repository names.
	Claim, SubPath string
	// Named is set in their place for a repository that has a name: the volume
	// with its description and keys. Backups are staged on a claim of the pod.
	Named *NamedRepository
	// Image of this tool.
	Image string
	// Suspended begins no run.
	Suspended bool
	// Since is when this policy was asked for.
	Since time.Time
}

// NamedRepository is what a pod needs to write to a repository that has a name.
type NamedRepository struct {
	Files, Staging corev1.Volume
	// Claim appears at ClaimPath, for a repository on a claim; SameNode is that claim if one node alone can mount it.
	Claim, ClaimPath, SameNode string
}

// scheduleContainer is the container that takes a scheduled backup.
const scheduleContainer = "backup"

// stagedAt is where a scheduled backup for an object store is kept until the engine has read it.
const stagedAt = "/staging"

// scheduleParts is how many objects a schedule consists of.
const scheduleParts = 4

// BuildSchedule is the CronJob, and before it what it acts with. Its pod
// mounts the repository itself and dials members directly, so it needs no
// right to make pods unless it verifies, nor to read any but the tool's own secrets.
func BuildSchedule(in ScheduleInput) ([]client.Object, error) {
	c := in.Cluster
	meta := func() metav1.ObjectMeta {
		return kube.ObjectMeta(c, v1alpha1.Schedule(c.Name), kube.ObjectLabels(c, kube.ComponentHelper))
	}
	account := &corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta: meta(), AutomountServiceAccountToken: new(false)}
	rbac := func(kind string) metav1.TypeMeta {
		return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}
	}
	role := &rbacv1.Role{TypeMeta: rbac("Role"), ObjectMeta: meta(), Rules: scheduleRules(c)}
	binding := &rbacv1.RoleBinding{TypeMeta: rbac("RoleBinding"), ObjectMeta: meta(),
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: v1alpha1.Schedule(c.Name)},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: v1alpha1.Schedule(c.Name), Namespace: c.Namespace}}}
	job, err := buildCronJob(in, meta())
	return []client.Object{account, role, binding, job}, err
}

// scheduleRules are the least that a backup takes. Names of operation records
// are not known beforehand, and lists can't be limited to names. Nobody can
// grant what they don't have themselves, so rights on the custom resource are
// asked for only where there is one.
func scheduleRules(c *v1alpha1.DatabaseCluster) []rbacv1.PolicyRule {
	cluster := c.Name
	rules := []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "create", "update"}},
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"persistentvolumeclaims", "services", "events"},
			Verbs: []string{"list"}},
		{APIGroups: []string{"apps"}, Resources: []string{"statefulsets"}, Verbs: []string{"list"}},
		{APIGroups: []string{"policy"}, Resources: []string{"poddisruptionbudgets"}, Verbs: []string{"list"}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"},
			ResourceNames: []string{v1alpha1.AdminSecret(cluster), v1alpha1.PasswordSecret(cluster, v1alpha1.AdminUser)}},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"create"}},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "update",
			"delete"}, ResourceNames: []string{v1alpha1.Record(cluster), v1alpha1.BackupLease(cluster)}},
		{APIGroups: []string{"batch"}, Resources: []string{"cronjobs"}, Verbs: []string{"get"},
			ResourceNames: []string{v1alpha1.Schedule(cluster)}},
	}
	if c.Spec.Backup.Verify != "" { // the throw-away member
		rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"},
			Verbs: []string{"create", "delete"}},
			rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods/portforward"},
				Verbs: []string{"get", "create"}})
	}
	if c.Annotations[v1alpha1.AnnotationCustom] != "" {
		rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{v1alpha1.GroupVersion().Group},
			Resources: []string{"databaseclusters"}, Verbs: []string{"get"}, ResourceNames: []string{cluster}})
	}
	return rules
}

func buildCronJob(in ScheduleInput, meta metav1.ObjectMeta) (*batchv1.CronJob, error) {
	policy, err := json.Marshal(in.Policy)
	if err != nil {
		return nil, fmt.Errorf("write down the schedule of %s: %w", in.Cluster.Name, err)
	}
	meta.Annotations = kube.Merged(meta.Annotations, map[string]string{kube.AnnotationPolicy: string(policy),
		kube.AnnotationSince: in.Since.UTC().Format(time.RFC3339)})
	if custom := in.Cluster.Annotations[v1alpha1.AnnotationCustom]; custom != "" {
		meta.Annotations[v1alpha1.AnnotationCustom] = custom
	}
	labels := kube.ObjectLabels(in.Cluster, kube.ComponentHelper)
	labels[v1alpha1.LabelPurpose] = PurposeBackup
	job := &batchv1.CronJob{TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "CronJob"}, ObjectMeta: meta}
	job.Spec = batchv1.CronJobSpec{
		Schedule: in.Policy.Schedule, Suspend: &in.Suspended, ConcurrencyPolicy: batchv1.ForbidConcurrent,
		StartingDeadlineSeconds:    new(seconds(scheduleLate)),
		SuccessfulJobsHistoryLimit: new(int32(scheduleHistory)), FailedJobsHistoryLimit: new(int32(scheduleHistory)),
	}
	if in.Policy.TimeZone != "" {
		job.Spec.TimeZone = &in.Policy.TimeZone
	}
	job.Spec.JobTemplate = batchv1.JobTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: kube.ObjectLabels(in.Cluster,
		kube.ComponentHelper)},
		Spec: batchv1.JobSpec{
			BackoffLimit: new(int32(scheduleRetries)), ActiveDeadlineSeconds: new(seconds(scheduleTotal)),
			PodFailurePolicy: &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
				Action: batchv1.PodFailurePolicyActionFailJob,
				OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{ContainerName: new(scheduleContainer),
					Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{CancelledCode}}}}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: schedulePod(in)},
		}}
	if in.Named != nil && in.Named.SameNode != "" {
		pod := &job.Spec.JobTemplate.Spec.Template
		SameNode(&pod.ObjectMeta, &pod.Spec, in.Named.SameNode)
	}
	return job, nil
}

// ScheduleResources are what the pod of a scheduled backup asks for.
func ScheduleResources() corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m"),
			corev1.ResourceMemory: resource.MustParse("64Mi")},
		Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("512Mi")},
	}
}

func schedulePod(in ScheduleInput) corev1.PodSpec {
	tmp, tmpMount := ScratchVolume()
	main := HelperContainer(scheduleContainer, in.Image, []corev1.VolumeMount{{Name: "repository", MountPath: MountedAt,
		SubPath: in.SubPath}, tmpMount})
	main.Command, main.Args = []string{"/usr/local/bin/kubectl-dbop"}, scheduleArgs(in)
	main.Env = []corev1.EnvVar{{Name: EnvMounted, Value: in.Policy.Repository + "=" + MountedAt},
		{Name: "HOME", Value: "/tmp"}}
	main.Resources = ScheduleResources()
	volumes := []corev1.Volume{ClaimVolume("repository", in.Claim), tmp}
	if in.Named != nil {
		main.VolumeMounts[0] = corev1.VolumeMount{Name: in.Named.Files.Name, MountPath: MountedAt, ReadOnly: true}
		main.VolumeMounts = append(main.VolumeMounts, corev1.VolumeMount{Name: in.Named.Staging.Name, MountPath: stagedAt})
		main.Env = append(main.Env, corev1.EnvVar{Name: "TMPDIR", Value: stagedAt})
		volumes = []corev1.Volume{in.Named.Files, tmp, in.Named.Staging}
		if in.Named.Claim != "" {
			main.VolumeMounts = append(main.VolumeMounts, corev1.VolumeMount{Name: "claim", MountPath: in.Named.ClaimPath})
			volumes = append(volumes, ClaimVolume("claim", in.Named.Claim))
		}
	}
	return corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, ServiceAccountName: v1alpha1.Schedule(in.Cluster.Name),
		AutomountServiceAccountToken: new(true), EnableServiceLinks: new(false), SecurityContext: PodSecurity(0),
		Volumes: volumes, Containers: []corev1.Container{main},
	}
}

// scheduleArgs is a command that a person could type as well.
func scheduleArgs(in ScheduleInput) []string {
	args := []string{"backup", in.Cluster.Name, "--namespace", in.Cluster.Namespace, "--repository", in.Policy.Repository,
		"--scheduled", "--wait-for-lease", schedulePatient.String(), "--timeout", scheduleTry.String(),
		"--progress", "plain"}
	p := in.Policy
	for _, rule := range []struct {
		flag  string
		count int32
	}{{"--keep", p.Keep}, {"--keep-daily", p.KeepDaily}, {"--keep-weekly", p.KeepWeekly},
		{"--keep-monthly", p.KeepMonthly}, {"--keep-yearly", p.KeepYearly}} {
		if rule.count > 0 {
			args = append(args, rule.flag, strconv.Itoa(int(rule.count)))
		}
	}
	if p.KeepFor != "" {
		args = append(args, "--keep", p.KeepFor)
	}
	if p.Verify != "" {
		args = append(args, "--verify-every", string(p.Verify))
	}
	if p.Full != "" {
		args = append(args, "--full-every", string(p.Full))
	}
	if calendar := p.KeepDaily + p.KeepWeekly + p.KeepMonthly + p.KeepYearly; p.TimeZone != "" &&
		(calendar > 0 || p.Verify != "" || p.Full != "") {
		args = append(args, "--time-zone", p.TimeZone)
	}
	return args
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }
