package executor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/helper"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/helperpod"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opener"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// remote returns the name of an object store that a pod reaches by itself; false for directories, for claims, and
// where this process is such a pod.
func (l *Executor) remote(url string) (string, bool) {
	at, err := ops.ParseRepository(url)
	return at.Name, err == nil && at.Kind == repository.KindNamed && l.Mounted[at.Name] == ""
}

// backUpInJob has a Job of this tool's image take the backup: no byte passes the API server, and nothing stops when
// this process does. The store says whether it is done; the Job goes afterwards.
func (l *Executor) backUpInJob(ctx context.Context, s ops.State, step ops.Step, repo repository.Repository,
	name string) (ops.Result, error) {
	op := s.Operation
	job := ops.BackupJob(op.Spec.Backup)
	have, err := helperpod.GetJob(ctx, l.Client, l.Namespace, job)
	switch {
	case errors.Is(err, kube.ErrNotFound):
		if m, err := repo.Get(ctx, op.Spec.Backup); err == nil && m.Operation == op.Name {
			return l.backedUp(ctx, s, m)
		}
		if step.Member() == "" {
			return ops.Result{}, fmt.Errorf("job %s is gone, and no member is fit to take a backup from: %w", job,
				engine.ErrNotReady)
		}
		if err := holdParent(ctx, repo, step.Parent); err != nil {
			return ops.Result{}, err
		}
		spec, err := l.backupJob(ctx, s, step, name, job)
		if err != nil {
			return ops.Result{}, err
		}
		if err := helperpod.CreateJob(ctx, l.Client, spec); err != nil {
			return ops.Result{}, fmt.Errorf("start job %s: %w", job, err)
		}
		return ops.Result{}, fmt.Errorf("job %s is starting: %w", job, engine.ErrNotReady)
	case err != nil:
		return ops.Result{}, err
	case have.Failed:
		return ops.Result{}, l.jobFailed(ctx, name, job, have)
	case !have.Done:
		does := "is taking the backup"
		if source := jobSource(have); source != "" { // the step names the member that would be chosen now
			does += " from " + source
		}
		return ops.Result{}, l.jobRuns(ctx, s, job, have, does)
	}
	m, err := repo.Get(ctx, op.Spec.Backup)
	if err != nil {
		return ops.Result{}, fmt.Errorf("find what job %s wrote: %w", job, err)
	}
	if err := helperpod.DeleteJob(ctx, l.Client, l.Namespace, job); err != nil {
		return ops.Result{}, fmt.Errorf("remove job %s: %w", job, err)
	}
	return l.backedUp(ctx, s, m)
}

// jobFailed removes a Job that has failed, and says why it did.
func (l *Executor) jobFailed(ctx context.Context, repository, name string, j helperpod.Job) error {
	why := j.Why
	if j.Pod != nil {
		why = cmp.Or(j.Pod.Message, why)
	}
	if err := helperpod.DeleteJob(ctx, l.Client, l.Namespace, name); err != nil {
		return fmt.Errorf("remove job %s: %w", name, err)
	}
	return &ops.Error{Kind: ops.NeedsHuman, Check: ops.CheckJobFailed,
		Message: fmt.Sprintf("job %s failed: %s", name, cmp.Or(strings.TrimSpace(why), "it left no message")),
		Hint:    "kubectl dbop repository check " + repository + "; then repeat the command"}
}

// stopBackup deletes the Job that takes a backup which nobody wants any more, and the throw-away member that proves it.
// What the Job stored so far belongs to no backup, and a prune collects it.
func (l *Executor) stopBackup(ctx context.Context, t task) (ops.Result, error) {
	id := t.Operation.Spec.Backup
	if err := l.EndVerification(ctx, t.Cluster, id); err != nil {
		return ops.Result{}, err
	}
	if !ops.JobStarted(t.Operation) {
		return ops.Result{}, nil
	}
	stopped := ops.Result{Facts: map[string]string{v1alpha1.FactStopped: id}}
	if _, byJob := l.remote(t.Operation.Spec.Repository); !byJob { // a run of a schedule streams by itself
		return stopped, nil
	}
	job := ops.BackupJob(id)
	if err := helperpod.DeleteJob(ctx, l.Client, l.Namespace, job); err != nil {
		return ops.Result{}, fmt.Errorf("remove job %s: %w", job, err)
	}
	runs, err := helperpod.JobRuns(ctx, l.Client, l.Namespace, job)
	if err != nil {
		return ops.Result{}, err
	}
	if runs {
		return ops.Result{}, fmt.Errorf("job %s is stopping: %w", job, engine.ErrNotReady)
	}
	return stopped, nil
}

// jobRuns says what a Job waits for, or what its pod does.
func (l *Executor) jobRuns(ctx context.Context, s ops.State, name string, j helperpod.Job, does string) error {
	switch p := j.Pod; {
	case p == nil:
		return fmt.Errorf("job %s is starting: %w", name, engine.ErrNotReady)
	case p.Problem != nil && s.Now.Sub(p.Problem.Since) > rules.Limit:
		return opener.HelperStuck(l.Namespace, *p)
	case p.Failed:
		return fmt.Errorf("pod %s failed (%s) and is made again: %w", p.Name, cmp.Or(p.Message, "it left no message"),
			engine.ErrNotReady)
	case p.Running:
		return fmt.Errorf("pod %s %s%s: %w", p.Name, does, l.waitsFor(ctx, p.Name, p.Purpose), engine.ErrNotReady)
	default:
		return fmt.Errorf("pod %s is starting: %w", p.Name, engine.ErrNotReady)
	}
}

// backupJob is a pod without a right to the API: what it needs is mounted.
func (l *Executor) backupJob(ctx context.Context, s ops.State, step ops.Step, name, job string) (helperpod.Spec,
	error) {
	c, op := s.Cluster, s.Operation
	d, err := l.repositories(c).Describe(ctx, l.Namespace, name)
	if err != nil {
		return helperpod.Spec{}, err
	}
	source := s.View.Member(step.Member())
	record := &v1alpha1.DatabaseCluster{Spec: *c.Spec.DeepCopy(), Status: v1alpha1.DatabaseClusterStatus{ID: c.Status.ID,
		Bootstrap: c.Status.Bootstrap.DeepCopy()}}
	record.Name, record.Namespace = c.Name, c.Namespace
	request, err := json.Marshal(helper.BackupRequest{Cluster: record, Member: source.Name, Version: source.Version,
		ClusterID: source.ClusterID, Backup: op.Spec.Backup, Parent: step.Parent, Operation: op.Name,
		Scheduled: op.Spec.Scheduled, Members: membership(s).Members, Most: longest(s, source.Name)})
	if err != nil {
		return helperpod.Spec{}, fmt.Errorf("write down what job %s is to do: %w", job, err)
	}
	files := append(repositoryFiles(d, false, true),
		helperpod.Files{Volume: stagingClaim(c, longest(s, source.Name)), Path: helper.BackupStaging, Writable: true},
		helperpod.Files{Volume: secretFiles("login", v1alpha1.PasswordSecret(c.Name, v1alpha1.AdminUser)),
			Path: helper.BackupLogin})
	if !c.Spec.TLS.Disabled {
		files = append(files, helperpod.Files{Volume: secretFiles("tls", v1alpha1.AdminSecret(c.Name)),
			Path: helper.BackupTLS})
	}
	return helperpod.Spec{Name: job, Namespace: l.Namespace, Cluster: c, Purpose: helperpod.PurposeBackup,
		Image: l.helperImage(c), Args: []string{"helper", "backup", "--report", corev1.TerminationMessagePathDefault},
		Env: map[string]string{helper.EnvBackup: string(request)}, Files: files, SameNode: sameNode(d),
		Resources: workload.ScheduleResources(), Deadline: rules.StreamDeadline}, nil
}

// stagingClaim is a claim that lives as long as its pod, as large as the longest snapshot and of the cluster's own
// storage class: the engine reads a file.
func stagingClaim(c *v1alpha1.DatabaseCluster, bytes int64) corev1.Volume {
	size := *resource.NewQuantity(bytes, resource.BinarySI)
	claim := &corev1.PersistentVolumeClaimTemplate{Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		StorageClassName: c.Spec.Storage.ClassName,
		Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: size}},
	}, ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{kube.LabelManagedBy: v1alpha1.FieldManager}}}
	return corev1.Volume{Name: "staging", VolumeSource: corev1.VolumeSource{
		Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: claim}}}
}

// secretFiles is a Secret as files; where it is not there the directory is empty.
func secretFiles(volume, name string) corev1.Volume {
	mode := int32(0o440)
	return corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
		SecretName: name, DefaultMode: &mode, Optional: new(true)}}}
}
