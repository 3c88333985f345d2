package planner

import (
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// agents is an engine whose members run agents.
type agents struct{ opstest.Stub }

func (a agents) Capabilities() engine.Capabilities {
	c := a.Stub.Capabilities()
	c.Agent = true
	return c
}

// renaming is a change of the image of this tool from tool:1 to tool:2, of which so many members have restarted. All of
// them have the settings that the cluster wants.
func renaming(e engine.Engine, moved int, changes ...func(*ops.State)) func() ops.State {
	return func() ops.State {
		s := opstest.Well(3)
		s.Cluster.Spec.HelperImage = "tool:1"
		for _, m := range s.Kube.Members {
			has(&s, m.Name)
			from(&s, m.Name, rules.AgentImage(e, s.Cluster))
		}
		op := opstest.Operation(v1alpha1.VerbConfigure)
		op.Spec.Change = &v1alpha1.SettingsChange{HelperImage: new("tool:2")}
		Default(&op.Spec, s.Cluster)
		s = opstest.Doing(s, op, moved == 0)
		ApplyTo(s.Cluster, op)
		for _, m := range []string{"db-2", "db-3", "db-1"}[:moved] {
			from(&s, m, "tool:2")
			op.Status.Journal = append(op.Status.Journal, v1alpha1.JournalEntry{Step: "roll-member/" + m})
		}
		for _, change := range changes {
			change(&s)
		}
		return s
	}
}

// from gives a member the agent of an image.
func from(s *ops.State, member, image string) {
	m := &s.Kube.Members[s.MemberIndex(member)]
	m.Workload.AgentImage, m.Pod.AgentImage = image, image
}

func TestDecideHelperImage(t *testing.T) {
	t.Parallel()
	e := agents{}
	scheduled := func(s *ops.State) { *s = opstest.Timed(*s) }
	crashes := func(s *ops.State) { opstest.Down(s, "db-2", observe.ProblemImage, time.Minute) }
	ask(t, e, []question{
		{"a follower first", renaming(e, 0), "roll-member/db-2"},
		{"a pod of the former template", renaming(e, 1, func(s *ops.State) { s.Kube.Members[1].Pod.AgentImage = "tool:1" }),
			"roll-member/db-2"},
		{"then the next", renaming(e, 1), "roll-member/db-3"},
		{"the leader last, after it handed over", renaming(e, 2), "hand-over/db-2"},
		{"then it is done", renaming(e, 3), "done"},
		{"nobody follows one whose image can't be pulled", renaming(e, 1, crashes), "blocked NeedsHuman ImagePull"},
		{"which gets the former one back", renaming(e, 1, crashes, steppingBack), "roll-member/db-2"},
		{"without a quorum too", renaming(e, 2, crashes, steppingBack, opstest.NoQuorum), "roll-member/db-2"},
		{"those that have not moved stay", renaming(e, 0, steppingBack), "done"},
		{"pods of the schedule come from it too", renaming(e, 3, scheduled), "schedule-backups"},
		{"under another change agents stay", configuring(3, []string{"db-1", "db-2", "db-3"}, func(s *ops.State) {
			s.Cluster.Spec.HelperImage = "tool:2"
		}), "done"},
	})
	none := opstest.Stub{}
	ask(t, none, []question{
		{"without agents nobody restarts", renaming(none, 0), "change-helper-image"},
		{"nor is anybody waited for", renaming(none, 0, opstest.NoQuorum), "change-helper-image"},
		{"it is told once", renaming(none, 0, func(s *ops.State) { s.SetFact(v1alpha1.FactHelperImage) }), "done"},
		{"and on the way back not at all", renaming(none, 0, steppingBack), "done"},
		{"it is the same", renaming(none, 0, func(s *ops.State) {
			s.Operation.Spec.FromSettings.HelperImage = new("tool:2")
		}), "done"},
		{"pods of the schedule come from it without agents", renaming(none, 0, scheduled, func(s *ops.State) {
			s.SetFact(v1alpha1.FactHelperImage)
		}), "schedule-backups"},
	})
}

// TestPlanHelperImage: a plan ends, and a change of something else goes along.
func TestPlanHelperImage(t *testing.T) {
	t.Parallel()
	also := func(s *ops.State) {
		s.Operation.Spec.Change.Set = map[string]string{"speed": "high"}
		Default(&s.Operation.Spec, s.Cluster)
		ApplyTo(s.Cluster, s.Operation)
	}
	rolls := []string{"roll-member/db-2", "roll-member/db-3", "hand-over/db-2", "roll-member/db-1"}
	judge(t, agents{}, renaming(agents{}, 0)(), rolls, "")
	judge(t, agents{}, renaming(agents{}, 0, also)(), rolls, "")
	judge(t, opstest.Stub{}, renaming(opstest.Stub{}, 0)(), []string{"change-helper-image"}, "")
	s := renaming(agents{}, 0)()
	if got := MakePlan(agents{}, s).Steps[0].Title; got != "Restart db-2 with the agent of tool:2" {
		t.Errorf("the first step is called %q", got)
	}
}

// TestUndoHelperImage: the former image is asked for, and none where there was none.
func TestUndoHelperImage(t *testing.T) {
	t.Parallel()
	for _, former := range []string{"tool:1", ""} {
		c := opstest.Well(3).Cluster
		c.Spec.HelperImage = former
		op := opstest.Operation(v1alpha1.VerbConfigure)
		op.Spec.Change = &v1alpha1.SettingsChange{HelperImage: new("tool:2")}
		Default(&op.Spec, c)
		ApplyTo(c, op)
		op.Status.Phase = v1alpha1.PhaseSucceeded
		u, err := Undo(c, []v1alpha1.Operation{*op})
		if err != nil {
			t.Fatal(err)
		}
		if got := u.Operation.Change.HelperImage; got == nil || *got != former || c.Spec.HelperImage != "tool:2" {
			t.Errorf("from %q: %v, and the cluster names %s", former, got, c.Spec.HelperImage)
		}
	}
}

// TestCheckHelperImage: agents need an image that a runtime takes.
func TestCheckHelperImage(t *testing.T) {
	t.Parallel()
	for image, refused := range map[string]bool{"tool:2": false, "": true, "https://tool": true} {
		s := renaming(agents{}, 0)()
		s.Operation.Spec.Change.HelperImage = &image
		s.Cluster.Spec.HelperImage = "tool:1"
		Default(&s.Operation.Spec, s.Cluster)
		err := Check(agents{}, Request{Operation: s.Operation.Spec}, s.Cluster)
		if (err != nil) != refused {
			t.Errorf("%q: %v", image, err)
		}
	}
}
