package planner

import (
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/drift"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// archiving is an engine whose log can be archived.
type archiving struct {
	opstest.Stub
	engine.LogArchiver
}

func (archiving) ArchiveRepository(spec v1alpha1.DatabaseClusterSpec) string {
	return spec.Config["archive"]
}

// TestArchiving: what archives the log is made, changed, stopped and removed as the settings ask for.
func TestArchiving(t *testing.T) {
	t.Parallel()
	state := func(verb v1alpha1.Verb, to string, change func(*ops.State)) func() ops.State {
		return func() ops.State {
			s := opstest.Well(3)
			s.Operation = opstest.Operation(verb)
			if to != "" {
				s.Cluster.Spec.Config = map[string]string{"archive": to}
			}
			if change != nil {
				change(&s)
			}
			return s
		}
	}
	made := func(s *ops.State) {
		s.Kube.Archive = observe.Workload{Exists: true, Settings: For(archiving{}, *s).Archive().Digest()}
	}
	both := func(changes ...func(*ops.State)) func(*ops.State) {
		return func(s *ops.State) {
			for _, c := range changes {
				c(s)
			}
		}
	}
	elsewhere := func(s *ops.State) { s.Cluster.Spec.Config = map[string]string{"archive": "elsewhere"} }
	stop := func(s *ops.State) {
		stopped(s, []string{"db-1", "db-2", "db-3"})
		s.Cluster.Spec.Stopped = true
	}
	idle := func(s *ops.State) { s.Kube.Archive.Idle = true }
	going := func(s *ops.State) { s.Kube.Archive.Terminating = true }
	edited := func(s *ops.State) {
		s.Cluster.ResourceVersion = "1"
		s.Kube.Differences = []drift.Difference{{Object: "statefulset/db-archive", Kind: drift.Edited,
			Field: "spec.template.spec.containers", Have: "other"}}
	}
	ask(t, archiving{}, []question{
		{"none is wanted", state(v1alpha1.VerbStart, "", nil), "done"},
		{"it is made", state(v1alpha1.VerbStart, "offsite", nil), "archive-log"},
		{"it is there", state(v1alpha1.VerbStart, "offsite", made), "done"},
		{"another repository", state(v1alpha1.VerbStart, "offsite", both(made, elsewhere)), "archive-log"},
		{"another incarnation", state(v1alpha1.VerbStart, "offsite", both(made, func(s *ops.State) {
			s.Kube.Archive.Settings = "of before"
		})), "archive-log"},
		{"not wanted any more", state(v1alpha1.VerbStart, "", made), "unarchive-log"},
		{"it is going", state(v1alpha1.VerbStart, "", both(made, going)), "wait/archive"},
		{"stopped with its cluster", state(v1alpha1.VerbStop, "offsite", both(made, stop)), "archive-log"},
		{"stays stopped", state(v1alpha1.VerbStop, "offsite", both(made, stop, idle)), "done"},
		{"started with it", state(v1alpha1.VerbStart, "offsite", both(made, idle)), "archive-log"},
		{"none is made for a stopped cluster", state(v1alpha1.VerbStop, "offsite", stop), "done"},
		{"edited", state(v1alpha1.VerbRepair, "offsite", both(made, edited)), "archive-log"},
		{"a backup changes nothing", state(v1alpha1.VerbBackup, "offsite", func(s *ops.State) {
			s.Operation.Status.Facts = map[string]string{v1alpha1.FactBackup: "b"}
		}), "done"},
	})
}
