package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/lease"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// checkBackup names the refusal of what a backup in flight would not outlast.
const checkBackup = "backup"

// meetBackup judges, by its plan, whether a request and the backup in flight go on beside each other. They do unless a
// step ends the backup's stream. Then the request waits as long as a process or a Job takes the backup, and takes over
// otherwise. What ends or recovers the cluster, or gives it other data, does not wait.
func (r *Runner) meetBackup(ctx context.Context, world ops.Cluster, p *planner.Prepared,
	taken func(context.Context) error) error {
	backup := p.Backup
	if old := p.Supersedes; old != nil && scopeOf(old.Spec.Verb) == lease.Backup {
		backup = old
	}
	if backup == nil || p.Continues != nil || p.Plan.Unchanged() {
		return nil
	}
	job := jobOf(ctx, world, backup)
	step := p.Plan.Disturbs(backup, job.Source)
	if step == nil || job.Done && !planner.OperationOf(p.Request.Operation.Verb).Manners().Ends {
		return nil
	}
	if urgent(p.Request.Operation.Verb) {
		p.Stops = backup == p.Backup
		return nil
	}
	if job.Runs {
		return inTheWay(backup, job.Source, *step, "job "+ops.BackupJob(backup.Spec.Backup)+" takes it")
	}
	if err := taken(ctx); errors.Is(err, lease.ErrHeld) {
		return inTheWay(backup, job.Source, *step, err.Error())
	} else if err != nil {
		return err
	}
	p.Stops = backup == p.Backup
	return nil
}

// urgent reports whether an operation waits for no backup: it is about a lost quorum or leader, or the data that is
// backed up is the cluster's no more.
func urgent(verb v1alpha1.Verb) bool {
	m := planner.OperationOf(verb).Manners()
	return m.Ends || m.Recovers || m.NewData
}

// jobOf is the Job that takes a backup. What can't be read may run.
func jobOf(ctx context.Context, world ops.Cluster, backup *v1alpha1.Operation) ops.JobState {
	job := ops.JobState{Source: backup.Status.Facts[v1alpha1.FactSource]}
	if !ops.JobStarted(backup) {
		return job
	}
	jobs, ok := world.(ops.JobReader)
	if !ok {
		job.Runs = true
		return job
	}
	read, err := jobs.ReadJob(ctx, backup)
	if err != nil {
		job.Runs = true
		return job
	}
	return read
}

// inTheWay refuses a request that a backup in flight would not outlast.
func inTheWay(backup *v1alpha1.Operation, source string, step ops.Step, who string) *ops.Error {
	from := "a member of " + backup.Spec.Cluster
	if source != "" {
		from = source
	}
	title := strings.ToLower(step.Title[:1]) + step.Title[1:]
	return &ops.Error{Kind: ops.Busy, Check: checkBackup,
		Message: fmt.Sprintf("backup %s is being taken from %s (%s), and would not outlast the step: %s",
			backup.Spec.Backup, from, who, title),
		Hint: fmt.Sprintf("wait for it to end, as kubectl dbop status %s shows; or stop it: kubectl dbop cancel %s; "+
			"then repeat the command", backup.Spec.Cluster, backup.Spec.Cluster)}
}

// seenTaking says who takes the backup in flight, for what is only shown: it compares the clocks of two machines.
func (r *Runner) seenTaking(ctx context.Context, namespace, cluster string) error {
	if r.Held == nil {
		return nil
	}
	h, err := r.Held(ctx, namespace, cluster)
	if err != nil || h.Holder == "" {
		return nil //nolint:nilerr // who may not read a lease is told when it is taken
	}
	return busy(&lease.HeldError{Cluster: cluster, Scope: lease.Backup, Holder: h.Holder, Since: h.Since,
		Operation: h.Operation})
}

// backupLease is the lease under which a backup in flight is taken, as far as a request needed to take it.
type backupLease struct {
	runner             *Runner
	namespace, cluster string
	held               lease.Lease
}

// take takes the lease; ErrHeld, as an Error, if a process takes the backup. A repeat does nothing.
func (b *backupLease) take(ctx context.Context) (err error) {
	if b.held == nil {
		b.held, err = b.runner.lock(ctx, b.namespace, b.cluster, lease.Backup)
	}
	return err
}

func (b *backupLease) giveBack(ctx context.Context) {
	if b.held != nil {
		giveBack(ctx, b.held)
	}
}

// endBackup puts an end to the backup in flight that can't go on beside the request. What ends or recovers the cluster
// does not wait for a process that does not stop: that finds out by the record.
func (r *Runner) endBackup(ctx context.Context, p *planner.Prepared, taken *backupLease, held lease.Lease) error {
	if !p.Stops || p.Plan.Unchanged() {
		return nil
	}
	old := p.Backup
	if taken.held == nil {
		own, err := r.wrest(ctx, old, wrestWithin)
		m := planner.OperationOf(p.Request.Operation.Verb).Manners()
		if err != nil && (!errors.Is(err, lease.ErrHeld) || !m.Ends && !m.Recovers) {
			return err
		}
		taken.held = own
	}
	stored, err := r.Store.GetOperation(ctx, old.Namespace, old.Name)
	if err != nil || !stored.Active() {
		return err
	}
	*old = *stored
	return r.endRecord(ctx, p, old, held)
}
