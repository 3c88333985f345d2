package planner

import (
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

func with(verb v1alpha1.Verb, change func(*ops.State)) func() ops.State {
	return func() ops.State {
		s := opstest.Doing(opstest.Well(3), opstest.Operation(verb), false)
		change(&s)
		return s
	}
}

// stoppedState has volumes and nothing that runs.
func stoppedState(s *ops.State) { stopped(s, []string{"db-1", "db-2", "db-3"}) }

func made(s *ops.State) { s.Operation.Status.Facts = map[string]string{v1alpha1.FactBackup: "b1"} }

func TestDecideBackup(t *testing.T) {
	t.Parallel()
	ask(t, opstest.Stub{}, []question{
		{"makes it", with(v1alpha1.VerbBackup, func(*ops.State) {}), "backup/b1"},
		{"made", with(v1alpha1.VerbBackup, made), "done"},
		{"to be verified", with(v1alpha1.VerbBackup, func(s *ops.State) { made(s); s.Operation.Spec.Verify = true }),
			"verify-backup/b1"},
		{"verified", with(v1alpha1.VerbBackup, func(s *ops.State) {
			made(s)
			s.Operation.Spec.Verify = true
			s.Operation.Status.Facts[v1alpha1.FactVerified] = "b1"
		}), "done"},
		{"of a cluster with a member down", with(v1alpha1.VerbBackup,
			func(s *ops.State) { opstest.Down(s, "db-3", "", 0) }),
			"backup/b1"},
		{"nobody is fit", with(v1alpha1.VerbBackup, func(s *ops.State) { opstest.NoQuorum(s) }), "blocked Refused backup"},
	})
}

func TestDecideDeletion(t *testing.T) {
	t.Parallel()
	purge := func(s *ops.State) { s.Operation.Spec.Purge = true }
	ask(t, opstest.Stub{}, []question{
		{"a last backup", with(v1alpha1.VerbDelete, func(*ops.State) {}), "backup/b1"},
		{"no backup waived", with(v1alpha1.VerbDelete, func(s *ops.State) { s.Operation.Spec.Waive = []string{"backup"} }),
			"stop-members"},
		{"stops", with(v1alpha1.VerbDelete, made), "stop-members"},
		{"keeps volumes", with(v1alpha1.VerbDelete, func(s *ops.State) { made(s); stoppedState(s) }), "delete-objects"},
		{"purges volumes", with(v1alpha1.VerbDelete, func(s *ops.State) { made(s); stoppedState(s); purge(s) }),
			"delete-volumes"},
		{"purges none of another incarnation", with(v1alpha1.VerbDelete, func(s *ops.State) {
			made(s)
			stoppedState(s)
			purge(s)
			for i := range s.Kube.Members {
				s.Kube.Members[i].Volume.Token = "old"
			}
		}), "delete-objects"},
		{"objects by label, also where none that is observed is left", with(v1alpha1.VerbDelete, func(s *ops.State) {
			made(s)
			stoppedState(s)
			s.Kube.Services, s.Kube.Certificates, s.Kube.Budget = false, false, nil
		}), "delete-objects"},
		{"the record last", with(v1alpha1.VerbDelete, func(s *ops.State) {
			made(s)
			stoppedState(s)
			s.Operation.Status.Facts[v1alpha1.FactObjectsDeleted] = "true"
		}), "delete-record"},
		{"the record is gone", with(v1alpha1.VerbDelete, func(s *ops.State) { s.Cluster = nil }), "done"},
		{"never formed: nothing to back up", func() ops.State {
			s := opstest.Wanted(3)
			s.Operation = opstest.Operation(v1alpha1.VerbDelete)
			AddMember(&s, "db-1", true)
			return s
		}, "stop-members"},
	})
}

func TestDecideRestoreInPlace(t *testing.T) {
	t.Parallel()
	restore := func(change func(*ops.State)) func() ops.State {
		return with(v1alpha1.VerbRestore, func(s *ops.State) {
			s.Operation.Spec.InPlace, s.Operation.Spec.Source = true,
				&v1alpha1.BackupSource{Repository: "dir:/backups", Backup: "b0"}
			change(s)
		})
	}
	proven := func(s *ops.State) { s.SetFact(v1alpha1.FactProven) }
	started := func(s *ops.State) {
		made(s)
		stoppedState(s)
		newIncarnation(s, "")
	}
	ask(t, opstest.Stub{}, []question{
		{"reads the backup first", restore(func(*ops.State) {}), "prove-backup/b0"},
		{"a safety backup", restore(proven), "backup/b1"},
		{"stops all", restore(func(s *ops.State) { made(s); proven(s) }), "stop-members"},
		{"begins the incarnation", restore(func(s *ops.State) { made(s); proven(s); stoppedState(s) }),
			"begin-incarnation"},
		{"loads under a new name", restore(started), "load-backup/db-4"},
		{"starts what is loaded", restore(func(s *ops.State) {
			started(s)
			s.Cluster.Status.Bootstrap.Loaded = true
			s.Kube.Members = append(s.Kube.Members, observe.Member{Name: "db-4",
				Volume: observe.Volume{Exists: true, Token: "incarnation-db.op-db-4"}})
		}), "start-members/db-4"},
	})
}
