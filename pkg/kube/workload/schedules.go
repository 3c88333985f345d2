package workload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/drift"
)

// Schedule is what exists of a cluster's schedule.
type Schedule struct {
	// Missing are the kinds of its objects that don't exist, Present those that
	// do. If only the CronJob was read the others count as it does.
	Missing []string `json:"missing,omitempty"`
	Present []string `json:"present,omitempty"`
	// Policy that the CronJob carries out, and since when.
	Policy v1alpha1.BackupPolicy `json:"policy,omitzero"`
	Since  time.Time             `json:"since,omitzero"`
	// Image of this tool that takes the backups.
	Image     string `json:"image,omitempty"`
	Suspended bool   `json:"suspended,omitempty"`
	// Custom is true if it may read the cluster's custom resource.
	Custom bool `json:"custom,omitempty"`
	// Running is true while a run is under way. LastStarted is when the last one
	// was due that was started, LastDone when the last one ended well.
	Running     bool      `json:"running,omitempty"`
	LastStarted time.Time `json:"lastStarted,omitzero"`
	LastDone    time.Time `json:"lastDone,omitzero"`
}

// Exists reports whether anything begins backups.
func (s *Schedule) Exists() bool { return s != nil && s.Policy.Schedule != "" }

// Clone copies it; nil of nil.
func (s *Schedule) Clone() *Schedule {
	if s == nil {
		return nil
	}
	out := *s
	out.Missing, out.Present = slices.Clone(s.Missing), slices.Clone(s.Present)
	return &out
}

// ReadSchedule reads the CronJob, and what it acts with if parts is set, and
// compares what exists with what would be made of in; a policy without a schedule
// compares nothing. The image, since when, and whether it is suspended are as the
// CronJob says. nil if it may not be read, where parts is not set: who
// changes a schedule needs that right, and a command that reads a cluster does not.
func ReadSchedule(ctx context.Context, c *kube.Client, in ScheduleInput, parts bool) (*Schedule, []drift.Difference,
	error) {
	out, objects := &Schedule{}, scheduleKinds(in.Cluster)
	job := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: in.Cluster.Namespace,
		Name: v1alpha1.Schedule(in.Cluster.Name)}}
	there, err := partOf(ctx, c, in.Cluster, job)
	if _, ok := errors.AsType[*kube.ForbiddenError](err); ok && !parts {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if there {
		out.read(job)
	}
	in.Image, in.Since, in.Suspended = out.Image, out.Since, out.Suspended
	made, err := BuildSchedule(in)
	if err != nil {
		return nil, nil, err
	}
	var differences []drift.Difference
	for i, o := range objects {
		kind, exists := o.GetObjectKind().GroupVersionKind().Kind, there
		switch {
		case kind == "CronJob":
			o = job
		case parts:
			if exists, err = partOf(ctx, c, in.Cluster, o); err != nil {
				return nil, nil, err
			}
		}
		if exists && (parts || o == job) && in.Policy.Schedule != "" {
			differences = append(differences,
				drift.ComparisonOf(made[i]).Of(kind, o.GetName(), "").Differences(made[i], o)...)
		}
		if role, ok := o.(*rbacv1.Role); ok && parts && exists {
			exists = equality.Semantic.DeepEqual(role.Rules, scheduleRules(in.Cluster)) // no less, and no more
		}
		list := &out.Missing
		if exists {
			list = &out.Present
		}
		*list = append(*list, kind)
	}
	return out, differences, nil
}

// partOf reads an object of a schedule, and reports whether it is there and of the cluster.
func partOf(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster, o client.Object) (bool, error) {
	err := c.API.Get(ctx, client.ObjectKeyFromObject(o), o)
	if errors.Is(err, kube.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the schedule of %s: %w", cluster.Name, err)
	}
	return (kube.BelongsTo(o, cluster) || kube.Unlabelled(o, cluster)) && o.GetDeletionTimestamp() == nil, nil
}

func (s *Schedule) read(job *batchv1.CronJob) {
	// Who wrote something else there finds it put right.
	_ = json.Unmarshal([]byte(job.Annotations[kube.AnnotationPolicy]), &s.Policy)
	s.Policy.Schedule, s.Policy.TimeZone = job.Spec.Schedule, ""
	if job.Spec.TimeZone != nil {
		s.Policy.TimeZone = *job.Spec.TimeZone
	}
	s.Since = job.CreationTimestamp.Time
	if since, err := time.Parse(time.RFC3339, job.Annotations[kube.AnnotationSince]); err == nil {
		s.Since = since
	}
	// An image that somebody else wrote into it is none that this tool chose.
	owners := drift.OwnersOf(job.ManagedFields)
	if containers := job.Spec.JobTemplate.Spec.Template.Spec.Containers; len(containers) > 0 &&
		(!owners.Known || owners.Owns(drift.Path{"spec", "jobTemplate", "spec", "template", "spec", "containers",
			"[" + containers[0].Name + "]", "image"})) {
		s.Image = containers[0].Image
	}
	s.Suspended, s.Running = job.Spec.Suspend != nil && *job.Spec.Suspend, len(job.Status.Active) > 0
	s.Custom = job.Annotations[v1alpha1.AnnotationCustom] != ""
	if t := job.Status.LastScheduleTime; t != nil {
		s.LastStarted = t.Time
	}
	if t := job.Status.LastSuccessfulTime; t != nil {
		s.LastDone = t.Time
	}
}

// scheduleKinds are the objects of a schedule by name alone, in the order in
// which they are made.
func scheduleKinds(cluster *v1alpha1.DatabaseCluster) []client.Object {
	meta := metav1.ObjectMeta{Name: v1alpha1.Schedule(cluster.Name), Namespace: cluster.Namespace}
	kind := func(version, kind string) metav1.TypeMeta { return metav1.TypeMeta{APIVersion: version, Kind: kind} }
	rbac := rbacv1.SchemeGroupVersion.String()
	return []client.Object{
		&corev1.ServiceAccount{TypeMeta: kind("v1", "ServiceAccount"), ObjectMeta: meta},
		&rbacv1.Role{TypeMeta: kind(rbac, "Role"), ObjectMeta: meta},
		&rbacv1.RoleBinding{TypeMeta: kind(rbac, "RoleBinding"), ObjectMeta: meta},
		&batchv1.CronJob{TypeMeta: kind("batch/v1", "CronJob"), ObjectMeta: meta},
	}
}

// ApplySchedule makes or changes what takes a cluster's backups; with alone
// set the CronJob alone, which takes fewer rights. The CronJob comes last: no
// run begins before it may do its work. A repeat changes nothing.
func ApplySchedule(ctx context.Context, c *kube.Client, in ScheduleInput, alone bool) error {
	objects, err := BuildSchedule(in)
	if err != nil {
		return err
	}
	if alone {
		objects = objects[scheduleParts-1:]
	}
	for _, o := range objects {
		if b, ok := o.(*rbacv1.RoleBinding); ok {
			if err := unbind(ctx, c, in.Cluster, b); err != nil {
				return err
			}
		}
		if err := c.Apply(ctx, in.Cluster, o); err != nil {
			return err
		}
	}
	return nil
}

// unbind deletes a binding to another role than is wanted: the API server lets
// nobody change that.
func unbind(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster, want *rbacv1.RoleBinding) error {
	have := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: want.Namespace, Name: want.Name}}
	if ours, err := partOf(ctx, c, cluster, have); err != nil || !ours || have.RoleRef == want.RoleRef {
		return err
	}
	return kube.IgnoreNotFound(c.API.Delete(ctx, have, client.Preconditions{UID: &have.UID}))
}

// DeleteSchedule removes what takes a cluster's backups, the CronJob first,
// and with it what runs. A repeat does nothing.
func DeleteSchedule(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster) error {
	for _, o := range slices.Backward(scheduleKinds(cluster)) {
		if err := c.DeleteOwned(ctx, cluster.Name, o,
			client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
			return err
		}
	}
	return nil
}

// deleteAnySchedule removes the schedule of a cluster that is deleted, also one
// that the cluster does not want any more. For a cluster that wants none, no
// right on its kinds is asked for.
func deleteAnySchedule(ctx context.Context, c *kube.Client, cluster *v1alpha1.DatabaseCluster) error {
	err := DeleteSchedule(ctx, c, cluster)
	if _, ok := errors.AsType[*kube.ForbiddenError](err); cluster.Spec.Backup.Schedule == "" &&
		(ok || errors.Is(err, kube.ErrForeign)) {
		return nil
	}
	return err
}
