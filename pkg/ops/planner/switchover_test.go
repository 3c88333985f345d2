package planner

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

func TestSwitchover(t *testing.T) {
	t.Parallel()
	asked := func(to, led string, change func(*ops.State)) ops.State {
		s := opstest.Well(3)
		s.Operation = opstest.Operation(v1alpha1.VerbSwitchover)
		s.Operation.Spec.Member, s.Operation.Spec.Leader = to, led
		if change != nil {
			change(&s)
		}
		return s
	}
	for name, c := range map[string]struct {
		state ops.State
		want  []string
		block string
	}{
		"to the fittest":              {state: asked("", "db-1", nil), want: []string{"hand-over/db-2"}},
		"to a chosen one":             {state: asked("db-3", "db-1", nil), want: []string{"hand-over/db-3"}},
		"the chosen one leads":        {state: asked("db-1", "db-1", nil)},
		"it moved already, not again": {state: asked("", "db-3", nil)},
		"a third member is down": {state: asked("db-2", "db-1",
			func(s *ops.State) { opstest.Down(s, "db-3", "", 0) }), want: []string{"hand-over/db-2"}},
		"the chosen one is down": {state: asked("db-3", "db-1",
			func(s *ops.State) { opstest.Down(s, "db-3", "", 0) }), block: "db-3 is not fit to lead: db-3 does not answer"},
		"nobody else is fit": {state: asked("", "db-1",
			func(s *ops.State) {
				opstest.Down(s, "db-2", "", 0)
				opstest.Down(s, "db-3", "",
					0)
			}), block: "no other member of db is fit to lead"},
		"stepping back changes nothing": {state: asked("", "db-1",
			func(s *ops.State) { s.Operation.Status.Phase = v1alpha1.PhaseCancelling })},
		"without quorum nothing is done": {state: asked("", "db-1", func(s *ops.State) { opstest.NoQuorum(s) }),
			block: "no quorum: 3 of 3 members answer, and no majority agrees on a leader"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			judge(t, opstest.Stub{}, c.state, c.want, c.block)
		})
	}
}

// TestHandOverLoses: what only the leader has is named before it is lost, by each verb that hands over.
func TestHandOverLoses(t *testing.T) {
	t.Parallel()
	s := opstest.Well(3)
	s.Operation = opstest.Operation(v1alpha1.VerbSwitchover)
	s.Operation.Spec.Leader = "db-1"
	for _, s := range []ops.State{s, configuring(3, nil, nil)()} {
		s.View.Members[0].OnlyHere = []string{"the logical slot a", "the logical slot b"}
		s.View.Members[1].OnlyHere = []string{"nothing"}
		want := "Hand leadership from db-1 to db-2, which loses the logical slot a, the logical slot b"
		if !slices.ContainsFunc(MakePlan(opstest.Stub{}, s).Steps, func(step ops.Step) bool { return step.Title == want }) {
			t.Errorf("%s: no step is %q", s.Verb(), want)
		}
		s.View.Members[0].Stale = "timeout"
		want += ", and may lose what only db-1 has: that is not known, as its server did not say it (timeout)"
		if !slices.ContainsFunc(MakePlan(opstest.Stub{}, s).Steps, func(step ops.Step) bool { return step.Title == want }) {
			t.Errorf("%s: no step is %q", s.Verb(), want)
		}
	}
}

// judge compares a plan's steps and what blocks it.
func judge(t *testing.T, e engine.Engine, s ops.State, want []string, block string) {
	t.Helper()
	plan := MakePlan(e, s)
	got := opstest.IDs(plan)
	if len(got) == 0 {
		got = nil
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	switch {
	case plan.Blocked == nil && block != "":
		t.Errorf("not blocked, want %q", block)
	case plan.Blocked != nil && plan.Blocked.Message != block:
		t.Errorf("blocked: %q, want %q", plan.Blocked.Message, block)
	}
}
