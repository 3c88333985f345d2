package executor

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/repositories"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/backups"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opener"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/pruning"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
)

// schedule makes or changes what takes backups.
func (l *Executor) schedule(ctx context.Context, t task) error {
	c := t.Cluster
	at, err := repository.ParseLocation(c.Spec.Backup.Repository)
	if err != nil {
		return &ops.Error{Kind: ops.Refused, Check: "repository", Message: err.Error(), Err: err,
			Hint: `name one as "pvc:CLAIM" or by its name`}
	}
	named, err := l.namedRepository(ctx, c, at)
	if err != nil {
		return err
	}
	in := workload.ScheduleInput{Cluster: c, Policy: c.Spec.Backup, Claim: at.Claim, SubPath: at.Path, Named: named,
		Suspended: c.Spec.Stopped,
		Image:     planner.For(l.Engine, t.State).ScheduleImage(), Since: t.Now}
	if have := t.Kube.Schedule; have.Exists() && t.Verb() != v1alpha1.VerbSchedule && in.Image == "" {
		in.Image = have.Image
	}
	if in.Image == "" {
		in.Image = l.helperImage(c)
	}
	switch have := t.Kube.Schedule; { // a repeat must say the same
	case have.Exists() && have.Policy == in.Policy:
		in.Since = have.Since
	case t.Operation != nil:
		in.Since = t.Operation.Status.StartedAt.Time
	}
	return workload.ApplySchedule(ctx, l.Client, in, planner.For(l.Engine, t.State).CronJobAlone())
}

func (l *Executor) unschedule(ctx context.Context, t task) error {
	return workload.DeleteSchedule(ctx, l.Client, t.Cluster)
}

// namedRepository is what a pod needs to write to an object store; nil for a claim.
func (l *Executor) namedRepository(ctx context.Context, c *v1alpha1.DatabaseCluster,
	at repository.Location) (*workload.NamedRepository, error) {
	if at.Kind != repository.KindNamed {
		return nil, nil
	}
	d, err := (&opener.Repositories{Client: l.Client}).Describe(ctx, l.Namespace, at.Name)
	if err != nil {
		return nil, err
	}
	out := &workload.NamedRepository{Files: repositories.Volume("repository", d, false), SameNode: sameNode(d),
		Staging: stagingClaim(c, looseStorage*c.Spec.Storage.Size.Value())}
	if at, ok := d.Claim(); ok {
		out.Claim, out.ClaimPath = at.Claim, bucket.MountedClaim
	}
	return out, nil
}

// prune deletes what the schedule's retention lets go. Each deletion is whole
// or not at all, and a repeat reads what is left.
func (l *Executor) prune(ctx context.Context, t task) (ops.Result, error) {
	op := t.Operation
	by, err := backups.RetentionOf(op.Spec.Retention, op.Spec.TimeZone)
	if err != nil {
		return ops.Result{}, err
	}
	repo, err := l.repositories(t.Cluster).Open(ctx, l.Namespace, op.Spec.Repository)
	if err != nil {
		return ops.Result{}, err
	}
	defer closing(repo)
	needed, err := l.needed(ctx)
	if err != nil {
		return ops.Result{}, err
	}
	p, _, err := pruning.Plan(ctx, repo, pruning.Rule{Namespace: l.Namespace, Cluster: l.Name, By: by, Needed: needed,
		Engine: l.engineNamed, Now: l.Client.Now()})
	if err != nil {
		return ops.Result{}, err
	}
	r, err := pruning.Prune(ctx, repo, p)
	if err == nil && len(r.Deleted) > 0 {
		err = pruning.NoteDeleted(ctx, l.Store, l.Namespace, l.Name, repo.URL(), r.Deleted)
	}
	if err != nil {
		return ops.Result{}, err
	}
	return ops.Result{Facts: map[string]string{v1alpha1.FactPruned: strconv.Itoa(len(r.Deleted))}}, nil
}

// engineNamed knows the engine of the cluster alone: a log of another one stays.
func (l *Executor) engineNamed(name string) (engine.Engine, error) {
	if name != l.Engine.Name() {
		return nil, fmt.Errorf("engine %s is not that of %s", name, l.Name)
	}
	return l.Engine, nil
}

// needed names the backups that somebody in this namespace is about to load.
func (l *Executor) needed(ctx context.Context) (map[string]bool, error) {
	clusters, err := l.Store.ListClusters(ctx, l.Namespace, "")
	if err != nil {
		return nil, err
	}
	operations, err := l.Store.ListOperations(ctx, l.Namespace, "")
	return pruning.Needed(clusters, operations), err
}

// ReadSchedule has the world read all that takes backups from now on.
func (l *Executor) ReadSchedule() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.schedules = true
}

// ReadAll has a world read all that takes scheduled backups, too, as far as
// that may be read.
func ReadAll(w ops.Cluster) {
	if l, ok := w.(*Executor); ok {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.whole = true
	}
}

// scheduleFacts reads the schedule where one is wanted, or where it is what
// an operation is about.
func (l *Executor) scheduleFacts(ctx context.Context, s *ops.State, c *v1alpha1.DatabaseCluster) error {
	l.mu.Lock()
	asked := l.schedules
	parts := asked || (l.certificates || l.whole) && c.Spec.Backup.Schedule != ""
	l.mu.Unlock()
	if !parts && c.Spec.Backup.Schedule == "" {
		return nil
	}
	in := workload.ScheduleInput{Cluster: c}
	at, err := repository.ParseLocation(c.Spec.Backup.Repository)
	if err == nil {
		// Without the repository there is nothing to compare with; the next backup tells.
		in.Named, err = l.namedRepository(ctx, c, at)
	}
	if err == nil && c.Status.Bootstrap != nil && c.Status.Bootstrap.ClusterID != "" {
		in.Policy, in.Claim, in.SubPath = c.Spec.Backup, at.Claim, at.Path
	}
	have, differences, err := workload.ReadSchedule(ctx, l.Client, in, parts)
	if _, forbidden := errors.AsType[*kube.ForbiddenError](err); forbidden && !asked {
		s.Kube.Unexamined = append(s.Kube.Unexamined, "roles, role bindings and service accounts")
		have, differences, err = workload.ReadSchedule(ctx, l.Client, in, false)
	}
	s.Kube.Schedule, s.Kube.Differences = have, append(s.Kube.Differences, differences...)
	return err
}
