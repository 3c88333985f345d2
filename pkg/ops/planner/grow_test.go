package planner

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// enlarging is a cluster whose volumes of 1Gi are to have 2Gi; nothing else changes.
func enlarging(change func(*ops.State)) func() ops.State {
	return func() ops.State {
		s := opstest.Well(3)
		s.Cluster.Spec.Storage.Size = resource.MustParse("1Gi")
		for i := range s.Kube.Members {
			m := &s.Kube.Members[i]
			m.Volume.Size, m.Volume.Capacity = s.Cluster.Spec.Storage.Size, s.Cluster.Spec.Storage.Size
			has(&s, m.Name)
		}
		op := opstest.Operation(v1alpha1.VerbResize)
		size := resource.MustParse("2Gi")
		op.Spec.Change = &v1alpha1.SettingsChange{Size: &size}
		Default(&op.Spec, s.Cluster)
		s = opstest.Doing(s, op, true)
		ApplyTo(s.Cluster, op)
		if change != nil {
			change(&s)
		}
		return s
	}
}

func TestDecideGrow(t *testing.T) {
	t.Parallel()
	// asked says that the volumes of all were asked to grow.
	asked := func(s *ops.State) {
		s.Operation.Status.Journal = []v1alpha1.JournalEntry{{Step: "grow-volumes"}}
		for i := range s.Kube.Members {
			s.Kube.Members[i].Volume.Size = s.Cluster.Spec.Storage.Size
		}
	}
	ask(t, opstest.Stub{}, []question{
		{"first of all", enlarging(nil), "grow-volumes"},
		{"before anybody is asked how the members are", enlarging(func(s *ops.State) {
			opstest.Down(s, "db-1", observe.ProblemCrashing, time.Minute)
			opstest.Down(s, "db-2", observe.ProblemCrashing, time.Minute)
			opstest.NoQuorum(s)
		}), "grow-volumes"},
		{"then it takes its time", enlarging(asked), "wait/grown"},
		{"a storage that can't is named", enlarging(func(s *ops.State) {
			asked(s)
			s.Kube.Members[0].Volume.Problem = &observe.Problem{Kind: observe.ProblemGrowth, Message: "no room",
				Since: s.Now.Add(-time.Minute)}
		}), "blocked NeedsHuman VolumeNotGrown"},
		{"volumes of another incarnation stay as they are", enlarging(func(s *ops.State) {
			asked(s)
			for i := range s.Kube.Members {
				s.Kube.Members[i].Volume.Capacity = s.Cluster.Spec.Storage.Size
			}
			s.Kube.Members = append(s.Kube.Members, observe.Member{Name: "db-9",
				Volume: observe.Volume{Exists: true, Token: "old", Size: resource.MustParse("1Gi")}})
		}), "done"},
		{"no way back, and none is needed", enlarging(func(s *ops.State) { asked(s); steppingBack(s) }), "done"},
		{"no other verb grows them", enlarging(func(s *ops.State) { s.Operation.Spec.Verb = v1alpha1.VerbScale }), "done"},
	})
}

func TestGrowthComesBeforeTheRoll(t *testing.T) {
	t.Parallel()
	s := enlarging(func(s *ops.State) { s.Cluster.Spec.Config = map[string]string{"speed": "high"} })()
	judge(t, opstest.Stub{}, s, []string{"grow-volumes", "wait/grown", "roll-member/db-2", "roll-member/db-3",
		"hand-over/db-2", "roll-member/db-1"}, "")
}
