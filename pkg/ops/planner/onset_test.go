package planner

import (
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// TestOnsets runs on a machine whose clock is ten minutes ahead of the node's.
func TestOnsets(t *testing.T) {
	node := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	now := node.Add(10 * time.Minute)
	crash := func(pod string) *ops.State {
		return &ops.State{Now: now, Kube: observe.Facts{Members: []observe.Member{{Name: "db-1",
			Pod: observe.Pod{Exists: true, UID: pod,
				Problem: &observe.Problem{Kind: observe.ProblemCrashing, Since: node}}}}}}
	}
	since := func(g *Onsets, s *ops.State) time.Duration {
		g.Date(s)
		return now.Sub(s.Kube.Members[0].Pod.Problem.Since)
	}
	var before Onsets
	if got := since(&before, crash("a")); got != 10*time.Minute {
		t.Errorf("a problem from before the run is %s old, want what is told of it", got)
	}
	var during Onsets
	during.Date(&ops.State{Now: now})
	if got := since(&during, crash("a")); got != 0 {
		t.Errorf("a new problem is %s old", got)
	}
	now = now.Add(9 * time.Second)
	during.Date(&ops.State{Now: now}) // it runs for a moment between two crashes
	if got := since(&during, crash("a")); got != 9*time.Second {
		t.Errorf("seen again it is %s old, want 9s", got)
	}
	if got := since(&during, crash("b")); got != 0 {
		t.Errorf("the same of another pod is %s old", got)
	}
	shared := crash("c")
	told := shared.Kube.Members[0].Pod.Problem
	during.Date(shared)
	if told.Since != node {
		t.Error("what was observed was changed in place")
	}
}

// TestOnsetsForgetOldEvents: a quota that was lifted leaves its event behind.
func TestOnsetsForgetOldEvents(t *testing.T) {
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	refused := func(seen time.Time) *ops.State {
		return &ops.State{Now: now, Kube: observe.Facts{Members: []observe.Member{{Name: "db-1",
			Pod: observe.Pod{Problem: &observe.Problem{Kind: observe.ProblemForbidden, Since: now.Add(-time.Hour),
				Seen: seen}},
			Volume: observe.Volume{Problem: &observe.Problem{Kind: observe.ProblemVolume, Since: now.Add(-time.Hour),
				Seen: seen}}}}}}
	}
	var g Onsets
	s := refused(now.Add(-2 * time.Second))
	if g.Date(s); s.Kube.Members[0].Pod.Problem != nil || s.Kube.Members[0].Volume.Problem != nil {
		t.Errorf("an event from before the run counts: %+v", s.Kube.Members[0])
	}
	s = refused(now.Add(time.Second))
	if g.Date(s); s.Kube.Members[0].Pod.Problem == nil || s.Kube.Members[0].Volume.Problem == nil {
		t.Errorf("an event of the run does not count: %+v", s.Kube.Members[0])
	}
}
