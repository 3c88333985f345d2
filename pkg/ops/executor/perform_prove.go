package executor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/helper"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/helperpod"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
)

// provenFor is how long a proof counts that each byte of a backup is right: a store may lose some later.
const provenFor = 24 * time.Hour

// prove reads the backup that is to be loaded, and compares each byte. Out of an object store a Job reads it, with the
// key that this process need not have.
func (l *Executor) prove(ctx context.Context, t task) (ops.Result, error) {
	from, job := t.Operation.Spec.Source, proveJob(t.Operation)
	if have, err := helperpod.GetJob(ctx, l.Client, l.Namespace, job); err == nil && !have.Done && !have.Failed {
		return ops.Result{}, l.jobRuns(ctx, t.State, job, have, "is reading "+from.Backup) // to open a claim takes a pod, too
	}
	done := ops.Result{Facts: map[string]string{v1alpha1.FactProven: from.Backup}}
	repo, err := l.repositories(t.Cluster).Open(ctx, l.Namespace, from.Repository)
	if err != nil {
		return ops.Result{}, err
	}
	defer closing(repo)
	m, err := repo.Get(ctx, from.Backup)
	if err != nil {
		return ops.Result{}, fmt.Errorf("find backup %s: %w", from.Backup, err)
	}
	if _, err := l.sourceOf(ctx, from.Repository, m); err != nil {
		return ops.Result{}, err
	}
	switch stored := repo.(type) {
	case *bucket.Repository:
		if m.ProvenWithin(provenFor, l.Client.Now()) {
			return done, stored.Present(ctx, m.ID) // what was read then is still all there
		}
		err = l.proveInJob(ctx, t.State, stored, m, readJob{name: job, by: t.Operation.Spec.RequestedBy})
	default:
		err = compareBytes(ctx, repo, m, t.report)
	}
	if err != nil {
		return ops.Result{}, err
	}
	return done, nil
}

// compareBytes has the bytes of a backup compared where it is, or reads them, for as long as that goes on.
func compareBytes(ctx context.Context, repo repository.Repository, m repository.Manifest,
	report func(int64, int64)) error {
	ctx, watch := repository.WatchStandstill(ctx, repository.StandstillAfter)
	moving := func(n, total int64) {
		watch.Moved()
		report(n, total)
	}
	err := repository.Check(ctx, repo, m.ID, moving)
	if errors.Is(err, errors.ErrUnsupported) {
		err = readAll(ctx, repo, m, moving)
	}
	return watch.End(err)
}

// readAll reads a backup; its reader compares the bytes.
func readAll(ctx context.Context, repo repository.Repository, m repository.Manifest,
	report func(int64, int64)) error {
	r, size, _, err := repository.Whole(ctx, repo, m.ID)
	if err != nil {
		return err // it names the backup and what is wrong with it
	}
	defer closing(r)
	counter := &repository.Counter{Report: func(n int64) { report(n, size) }}
	if _, err := io.Copy(io.Discard, counter.Reader(r)); err != nil {
		return fmt.Errorf("read backup %s: %w", m.ID, err)
	}
	return nil
}

func proveJob(op *v1alpha1.Operation) string { return "prove-" + markOf(op) }

// readJob is a Job that reads a backup, and who asked for that.
type readJob struct{ name, by string }

// proveInJob does one attempt; ErrNotReady (wrapped) asks for another after a new observation.
func (l *Executor) proveInJob(ctx context.Context, s ops.State, repo *bucket.Repository,
	m repository.Manifest, by readJob) error {
	job := by.name
	have, err := helperpod.GetJob(ctx, l.Client, l.Namespace, job)
	switch {
	case errors.Is(err, kube.ErrNotFound):
		if err := hold(ctx, repo, m.ID); err != nil {
			return err
		}
		d, err := l.repositories(s.Cluster).Describe(ctx, l.Namespace, repo.URL())
		if err != nil {
			return err
		}
		if err := helperpod.CreateJob(ctx, l.Client, helperpod.Spec{Name: job, Namespace: l.Namespace, Cluster: s.Cluster,
			Purpose: helperpod.PurposeProve, Image: l.helperImage(s.Cluster),
			Files: repositoryFiles(d, d.Identity, true), SameNode: sameNode(d),
			Args: []string{"helper", "prove", "--from-repository", helper.MountedRepository, "--backup", m.ID, "--by", by.by,
				"--report", corev1.TerminationMessagePathDefault},
			Resources: workload.ScheduleResources(), Deadline: rules.StreamDeadline}); err != nil {
			return fmt.Errorf("start job %s: %w", job, err)
		}
		return fmt.Errorf("job %s is starting: %w", job, engine.ErrNotReady)
	case err != nil:
		return err
	case have.Failed:
		return l.jobFailed(ctx, repo.URL(), job, have)
	case !have.Done:
		return l.jobRuns(ctx, s, job, have, "is reading "+m.ID)
	}
	if err := helperpod.DeleteJob(ctx, l.Client, l.Namespace, job); err != nil {
		return fmt.Errorf("remove job %s: %w", job, err)
	}
	return nil
}
