package executor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/helperpod"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
)

// Proving says what is to be proven of a backup.
type Proving struct {
	Backup string
	Level  repository.Level
	// By is who asks for it.
	By string
}

// ProveBackup does one attempt of a verification outside of an operation; ErrNotReady (wrapped) asks for another after
// a new observation. What it finds is recorded in the repository, and noted on the cluster if that is there. That it
// could not be carried out says nothing of the backup, and is recorded nowhere.
func (l *Executor) ProveBackup(ctx context.Context, s ops.State, repo repository.Repository, want Proving,
	report func(int64, int64)) error {
	var err error
	switch want.Level {
	case repository.LevelPresent:
		err = l.provePresent(ctx, repo, want)
	case repository.LevelIntact:
		err = l.proveIntact(ctx, s, repo, want, report)
	default:
		err = l.verifyBackup(ctx, s, repo, want, report)
	}
	if errors.Is(err, engine.ErrNotReady) {
		return err
	}
	return errors.Join(err, l.NoteProof(ctx, repo, want, err))
}

// EndProof removes what a verification left that is not continued.
func (l *Executor) EndProof(ctx context.Context, like *v1alpha1.DatabaseCluster, id string) error {
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), ops.SaveGrace)
	defer cancel()
	return errors.Join(l.EndVerification(ctx, like, id),
		helperpod.DeleteJob(ending, l.Client, l.Namespace, intactJob(like, id)))
}

// provePresent needs no secret key: it lists what is stored.
func (l *Executor) provePresent(ctx context.Context, repo repository.Repository, want Proving) error {
	p, ok := repo.(repository.Presence)
	if !ok {
		return &ops.Error{Kind: ops.Refused, Check: "level",
			Message: fmt.Sprintf("%s can't tell whether backup %s is all there without reading it", repo.URL(), want.Backup),
			Hint:    "have it read: kubectl dbop backup verify " + want.Backup + " --level intact --repository " + repo.URL()}
	}
	if err := p.Present(ctx, want.Backup); err != nil {
		return l.recordFailure(ctx, repo, want, err)
	}
	return l.recordSuccess(ctx, repo, want)
}

// proveIntact reads a backup in an object store in a Job, which records what it finds, and any other one here.
func (l *Executor) proveIntact(ctx context.Context, s ops.State, repo repository.Repository, want Proving,
	report func(int64, int64)) error {
	job := intactJob(s.Cluster, want.Backup)
	if have, err := helperpod.GetJob(ctx, l.Client, l.Namespace, job); err == nil && !have.Done && !have.Failed {
		return l.jobRuns(ctx, s, job, have, "is reading "+want.Backup) // to open a claim takes a pod, too
	}
	m, err := repo.Get(ctx, want.Backup)
	if err != nil {
		return fmt.Errorf("find backup %s: %w", want.Backup, err)
	}
	if stored, ok := repo.(*bucket.Repository); ok {
		err := l.proveInJob(ctx, s, stored, m, readJob{name: job, by: want.By})
		return l.foundInJob(ctx, repo, m.ID, err)
	}
	if err := compareBytes(ctx, repo, m, report); err != nil {
		return l.recordFailure(ctx, repo, want, err)
	}
	return l.recordSuccess(ctx, repo, want)
}

// foundInJob says what a Job recorded that has failed: of damage the Job tells the repository, and of all else nobody.
func (l *Executor) foundInJob(ctx context.Context, repo repository.Repository, id string, failed error) error {
	e, ended := errors.AsType[*ops.Error](failed)
	if !ended || e.Check != ops.CheckJobFailed {
		return failed
	}
	m, err := repo.Get(ctx, id)
	if err != nil || m.FailedProof == nil || m.FailedProof.Level != repository.LevelIntact {
		return failed
	}
	return &ops.Error{Kind: ops.NeedsHuman, Check: CheckDamage,
		Message: fmt.Sprintf("backup %s is not intact: %s", id, m.FailedProof.Reason),
		Hint:    "choose another backup: kubectl dbop backup list --repository " + repo.URL()}
}

// intactJob is the Job that reads a backup for nobody's operation.
func intactJob(like *v1alpha1.DatabaseCluster, id string) string {
	return "intact-" + strings.TrimPrefix(throwAwayName(like, id), "verify-")
}

// proofOf is a proof that succeeds now.
func (l *Executor) proofOf(want Proving) repository.Proof {
	return repository.Proof{Level: want.Level, By: want.By,
		Verification: repository.Verification{Time: l.Client.Now(), Tool: l.Tool}}
}

func (l *Executor) recordSuccess(ctx context.Context, repo repository.Repository, want Proving) error {
	if err := repo.AddProof(ctx, want.Backup, l.proofOf(want)); err != nil {
		return fmt.Errorf("backup %s is %s; record that: %w", want.Backup, want.Level, err)
	}
	return nil
}

// recordFailure records that a proof failed, if that is what an error says, and returns the error. A process that is
// asked to stop still has the time for it.
func (l *Executor) recordFailure(ctx context.Context, repo repository.Repository, want Proving, found error) error {
	if !disproves(found) {
		return found
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ops.SaveGrace)
	defer cancel()
	p := l.proofOf(want)
	p.Failed, p.Reason = true, reasonOf(found)
	err := repo.AddProof(ctx, want.Backup, p)
	if err == nil || errors.Is(err, repository.ErrDamaged) { // of a manifest that can't be read nothing is recorded
		return found
	}
	return errors.Join(found, fmt.Errorf("record that the proof failed: %w", err))
}

// disproves reports whether an error says that a backup is not what it should be. That it could not be read, or that
// the cluster had no room, says nothing of it.
func disproves(err error) bool {
	if e, ok := errors.AsType[*ops.Error](err); ok && slices.Contains([]string{CheckVerification, CheckDamage, CheckLoad},
		e.Check) {
		return true
	}
	return errors.Is(err, repository.ErrDamaged) || errors.Is(err, engine.ErrNotSnapshot)
}

// Checks of the errors with which a proof fails.
const (
	// CheckVerification: it restores to something else than was backed up.
	CheckVerification = "verification"
	// CheckDamage: the data was damaged when it was taken.
	CheckDamage = "damage"
	// CheckLoad: it could not be loaded.
	CheckLoad = "load"
)

// reasonOf is why a proof failed, in the words of its error and without the advice.
func reasonOf(err error) string {
	if e, ok := errors.AsType[*ops.Error](err); ok {
		return e.Error()
	}
	return err.Error()
}
