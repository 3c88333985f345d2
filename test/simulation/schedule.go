package simulation

import (
	"context"
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/pruning"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
)

// scheduled is one object of a schedule; only the CronJob has anything in it.
type scheduled struct {
	policy    v1alpha1.BackupPolicy
	suspended bool
}

const cronJob = "CronJob"

// scheduleKinds are made in this order, and removed in the other.
func scheduleKinds() []string { return []string{"ServiceAccount", "Role", "RoleBinding", cronJob} }

// ReadSchedule has the site read the schedule from now on.
func (s *site) ReadSchedule() { s.schedule = true }

// scheduleFacts is what exists of a schedule; the CronJob means all
// unless each part is observed.
func (w *world) scheduleFacts(cluster string, parts bool) *workload.Schedule {
	have, out := w.shared(cluster).schedule, &workload.Schedule{}
	job, there := have[cronJob]
	if there {
		out.Policy, out.Suspended = job.policy, job.suspended
	}
	for _, kind := range scheduleKinds() {
		exists := there
		if parts {
			_, exists = have[kind]
		}
		if exists {
			out.Present = append(out.Present, kind)
		} else {
			out.Missing = append(out.Missing, kind)
		}
	}
	return out
}

func (s *site) applySchedule(ctx context.Context, st ops.State) error {
	kinds, c := scheduleKinds(), st.Cluster
	if v := st.Operation.Spec.Verb; v == v1alpha1.VerbStop || v == v1alpha1.VerbStart || v == v1alpha1.VerbRecover ||
		st.Operation.Spec.InPlace {
		kinds = kinds[len(kinds)-1:]
	}
	for _, kind := range kinds {
		err := s.do(ctx, "apply "+kind, func() error {
			o := s.actor.world.shared(s.cluster)
			if o.schedule == nil {
				o.schedule = map[string]scheduled{}
			}
			o.schedule[kind] = scheduled{}
			if kind == cronJob {
				if len(o.schedule) < len(scheduleKinds()) {
					s.actor.world.violate("%s lets backups begin that may do nothing", s.actor.name)
				}
				o.schedule[kind] = scheduled{policy: c.Spec.Backup, suspended: c.Spec.Stopped}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *site) deleteSchedule(ctx context.Context) error {
	for _, kind := range slices.Backward(scheduleKinds()) {
		if err := s.do(ctx, "delete "+kind, func() error {
			delete(s.actor.world.shared(s.cluster).schedule,
				kind)
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// prune deletes one backup after another.
func (s *site) prune(ctx context.Context, st ops.State) (ops.Result, error) {
	w := s.actor.world
	var surplus []string
	err := s.actor.call(ctx, "list backups", func() error {
		needed := pruning.Needed(w.records.all())
		for _, d := range repository.Judge(w.manifests(), s.cluster, Namespace,
			archive.Retention{Last: int(st.Operation.Spec.Keep)}, st.Now) {
			if !d.Keep && !needed[d.ID] {
				surplus = append(surplus, d.ID)
			}
		}
		return nil
	})
	for _, id := range surplus {
		if err == nil {
			err = s.do(ctx, "delete "+id, func() error {
				w.pruning(s.actor, st.Operation, id)
				delete(w.backups,
					id)
				return nil
			})
		}
	}
	return ops.Result{Facts: map[string]string{v1alpha1.FactPruned: "0"}}, err
}

// manifests is the repository's listing, newest first.
func (w *world) manifests() []repository.Manifest {
	var out []repository.Manifest
	for id, b := range w.backups {
		m := repository.Manifest{ID: id, Cluster: b.cluster, Namespace: Namespace, StartedAt: b.at, FinishedAt: b.at,
			Scheduled: b.scheduled}
		if b.verified {
			m.Verified = &repository.Verification{Time: b.at}
		}
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b repository.Manifest) int {
		if c := b.StartedAt.Compare(a.StartedAt); c != 0 {
			return c
		}
		if a.ID < b.ID {
			return 1
		}
		return -1
	})
	return out
}

// all returns every cluster and every operation on record.
func (r *records) all() (clusters []v1alpha1.DatabaseCluster, operations []v1alpha1.Operation) {
	for _, c := range r.clusters {
		clusters = append(clusters, *c)
	}
	for _, o := range r.operations {
		operations = append(operations, *o)
	}
	return clusters, operations
}

// pruning checks a backup that is about to be deleted.
func (w *world) pruning(a *actor, o *v1alpha1.Operation, id string) {
	b, ok := w.backups[id]
	if !ok {
		return
	}
	newer, verified := 0, false
	for other, n := range w.backups {
		if other != id && n.cluster == b.cluster && !n.at.Before(b.at) {
			verified = verified || n.verified
			if n.scheduled {
				newer++
			}
		}
	}
	switch {
	case b.cluster != o.Spec.Cluster || !b.scheduled:
		w.violate("%s deletes %s, which is no business of its schedule", a.name, id)
	case newer < int(o.Spec.Keep):
		w.violate("%s deletes %s, and only %d newer ones are left of %d", a.name, id, newer, o.Spec.Keep)
	case b.verified && !verified:
		w.violate("%s deletes %s, the newest that was ever restored", a.name, id)
	}
	if _, ok := w.backups[o.Spec.Backup]; !ok {
		w.violate("%s deletes %s before there is a newer one", a.name, id)
	}
	w.tally["backup pruned"]++
}

// timed checks that a schedule is as it is wanted.
func (w *world) timed(o *v1alpha1.Operation, c *v1alpha1.DatabaseCluster) {
	if c == nil {
		w.violate("%s ended and its cluster is gone", o.Name)
		return
	}
	have := w.shared(c.Name).schedule
	switch job := have[cronJob]; {
	case c.Spec.Backup.Schedule == "" && len(have) > 0:
		w.violate("%s ended and %d objects of a schedule are left", o.Name, len(have))
	case c.Spec.Backup.Schedule != "" && (len(have) != len(scheduleKinds()) || job.policy != c.Spec.Backup ||
		job.suspended != c.Spec.Stopped):
		w.violate("%s ended and the schedule is %+v, wanted %+v", o.Name, have, c.Spec.Backup)
	}
}

// timing draws a command about scheduled backups, or what a CronJob would type.
func (p *person) timing(c *v1alpha1.DatabaseCluster, one func(func(*v1alpha1.OperationSpec)) command) command {
	if p.rng.IntN(2) == 0 {
		keep, verify := int32(p.rng.IntN(3)), p.rng.IntN(3) == 0 //nolint:gosec // small
		return one(func(s *v1alpha1.OperationSpec) {
			s.Verb, s.Scheduled, s.Keep, s.Verify = v1alpha1.VerbBackup, true, keep, verify
		})
	}
	policy := &v1alpha1.BackupPolicy{Repository: "pvc:backups"}
	if c.Spec.Backup.Schedule == "" || p.rng.IntN(2) == 0 {
		policy.Schedule, policy.Keep = pick(p, []string{"0 2 * * *", "*/5 * * * *"}), int32(p.rng.IntN(3)) //nolint:gosec // small
	}
	return one(func(s *v1alpha1.OperationSpec) { s.Verb, s.Policy = v1alpha1.VerbSchedule, policy })
}
