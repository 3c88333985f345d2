package opstest

import (
	"errors"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/drift"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// Upgrading is a cluster on 1.1.0 that is to become 1.2.0, backed up, with some members moved already.
func Upgrading(members int, moved []string, change func(*ops.State)) func() ops.State {
	return func() ops.State {
		op := Operation(v1alpha1.VerbUpgrade)
		op.Spec.Version, op.Spec.FromVersion = "1.2.0", "1.1.0"
		op.Status.Facts = map[string]string{v1alpha1.FactBackup: "b1", v1alpha1.FactVerified: "b1"}
		s := Doing(Well(members), op, false)
		s.Cluster.Spec.Version = "1.2.0"
		for _, m := range moved {
			Runs(&s, m, "1.2.0")
			op.Status.Journal = append(op.Status.Journal, v1alpha1.JournalEntry{Step: "upgrade-member/" + m})
		}
		change(&s)
		return s
	}
}

// Cancelling has the operation in flight step back.
func Cancelling(s *ops.State) {
	s.Operation.Status.Phase, s.Cluster.Spec.Version = v1alpha1.PhaseCancelling, "1.1.0"
}

// Rendered is a cluster whose members are as this program renders them.
func Rendered(change func(*ops.State)) ops.State {
	s := Well(3)
	s.Rendering = "ours"
	for i := range s.Kube.Members {
		s.Kube.Members[i].Workload.Rendering, s.Kube.Members[i].Pod.Rendering = "ours", "ours"
	}
	if change != nil {
		change(&s)
	}
	return s
}

// Overtaken is a store where somebody else pauses first.
type Overtaken struct {
	store.Store
	done bool
}

// HintOf is the hint of an error; "" without one.
func HintOf(err error) string {
	if e, ok := errors.AsType[*ops.Error](err); ok {
		return e.Hint
	}
	return ""
}

// Road is a state with a way ahead of it.
type Road struct {
	Name  string
	State func() ops.State
	// Downtime: the operation is to stop the cluster.
	Downtime bool
}

// Roads are the states that each plan of the goldens starts from.
func Roads() []Road {
	one := func(verb v1alpha1.Verb, members int, change func(*ops.State)) func() ops.State {
		return func() ops.State {
			s := Doing(Well(members), Operation(verb), true)
			change(&s)
			return s
		}
	}
	return []Road{
		{Name: "create", State: func() ops.State { return Wanted(3) }},
		{Name: "create-one", State: func() ops.State { return Wanted(1) }},
		{Name: "create-from-backup", State: func() ops.State {
			s := Wanted(3)
			s.Cluster.Spec.RestoreFrom = &v1alpha1.RestoreSource{Repository: "dir:/backups", Backup: "b0"}
			s.Cluster.Status.Bootstrap.Members = []string{"db-1"}
			return s
		}},
		{Name: "grow", State: one(v1alpha1.VerbScale, 3, func(s *ops.State) { s.Cluster.Spec.Members = 5 })},
		{Name: "shrink", State: one(v1alpha1.VerbScale, 5, func(s *ops.State) { s.Cluster.Spec.Members = 3 })},
		{Name: "remove-leader", State: one(v1alpha1.VerbRemoveMember, 3,
			func(s *ops.State) { s.Cluster.Spec.Members, s.Operation.Spec.Member = 2, "db-1" })},
		{Name: "upgrade", State: one(v1alpha1.VerbUpgrade, 3,
			func(s *ops.State) { s.Cluster.Spec.Version, s.Operation.Spec.Version = "1.2.0", "1.2.0" })},
		{Name: "downgrade", State: one(v1alpha1.VerbDowngrade, 3,
			func(s *ops.State) { s.Cluster.Spec.Version, s.Operation.Spec.Version = "1.0.0", "1.0.0" })},
		{Name: "downgrade-early", State: one(v1alpha1.VerbDowngrade, 3, func(s *ops.State) {
			s.Cluster.Spec.Version, s.Operation.Spec.Version = "1.0.0", "1.0.0"
			s.View.Members[1].Schema = "1.0"
		})},
		{Name: "downgrade-cancelled", State: one(v1alpha1.VerbDowngrade, 3, func(s *ops.State) {
			s.Operation.Status.Phase, s.View.Downgrade = v1alpha1.PhaseCancelling, "1.0.0"
			Runs(s, "db-2", "1.0.0")
			Speaks(s, "1.0", "1.0")
		})},
		{Name: "backup", State: one(v1alpha1.VerbBackup, 3, func(s *ops.State) { s.Operation.Spec.Verify = true })},
		{Name: "restore-in-place", Downtime: true, State: one(v1alpha1.VerbRestore, 3, func(s *ops.State) {
			s.Operation.Spec.InPlace, s.Operation.Spec.Source = true,
				&v1alpha1.BackupSource{Repository: "dir:/backups", Backup: "b0"}
		})},
		{Name: "delete", Downtime: true, State: one(v1alpha1.VerbDelete, 3, func(*ops.State) {})},
		{Name: "purge", Downtime: true, State: one(v1alpha1.VerbDelete, 3,
			func(s *ops.State) { s.Operation.Spec.Purge = true })},
		{Name: "nothing", State: func() ops.State { return Well(3) }},
	}
}

// IDs are the IDs of the steps of a plan.
func IDs(p ops.Plan) []string {
	out := make([]string, len(p.Steps))
	for i, s := range p.Steps {
		out[i] = s.ID
	}
	return out
}

// Differs adds differences to a state.
func Differs(s ops.State, all ...drift.Difference) ops.State {
	s.Kube.Differences = all
	return s
}

// Gone is the difference of an object that does not exist.
func Gone(object, member string) drift.Difference {
	return drift.Difference{Object: object, Member: member, Kind: drift.Missing}
}

// Edited is the difference of an object of which a field was changed.
func Edited(object, member, field string) drift.Difference {
	return drift.Difference{Object: object, Member: member, Kind: drift.Edited, Field: field, Want: "good", Have: "bad",
		By: "kubectl-edit", Since: Now()}
}

const Image = "spec.template.spec.containers[db].image"

// Nightly is a schedule with a claim, seven backups and one run a night.
func Nightly() v1alpha1.BackupPolicy {
	return v1alpha1.BackupPolicy{Repository: "pvc:backups", Schedule: "0 2 * * *",
		Retention: v1alpha1.Retention{Keep: 7}}
}

// ScheduleParts are the kinds of a schedule's objects.
func ScheduleParts() []string { return []string{"ServiceAccount", "Role", "RoleBinding", "CronJob"} }

// Timed is a cluster whose schedule is carried out since a day.
func Timed(s ops.State) ops.State {
	s.Cluster.Spec.Backup = Nightly()
	s.Kube.Schedule = &workload.Schedule{Present: ScheduleParts(), Policy: Nightly(), Image: "tool:1",
		Since: s.Now.Add(-24 * time.Hour)}
	return s
}
