package planner

import (
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// mover is a database whose clusters can follow another server.
type mover struct{ opstest.Stub }

func (mover) Capabilities() engine.Capabilities {
	c := opstest.Stub{}.Capabilities()
	c.Source = true
	return c
}

func TestCutover(t *testing.T) {
	t.Parallel()
	asked := func(from *engine.Source, change func(*ops.State)) ops.State {
		s := opstest.Well(3)
		s.Cluster.Spec.Source, s.View.Source = &v1alpha1.Source{Address: "there:6379"}, from
		s.Operation = opstest.Operation(v1alpha1.VerbCutover)
		if change != nil {
			change(&s)
		}
		return s
	}
	follows := &engine.Source{Address: "there:6379", Following: true, Linked: true}
	for name, c := range map[string]struct {
		state ops.State
		want  []string
		block string
	}{
		"it follows": {state: asked(follows, nil), want: []string{"cut-over/there:6379"}},
		"it copies": {state: asked(&engine.Source{Address: "there:6379"}, nil),
			block: "the data of there:6379 is still being copied"},
		"the connection is broken": {state: asked(&engine.Source{Address: "there:6379", Following: true,
			Problem: "connect to the source there:6379: refused"}, nil),
			block: "connect to the source there:6379: refused"},
		"it was done, and the answer was lost": {state: asked(nil, func(s *ops.State) {
			s.Operation.Status.Journal = []v1alpha1.JournalEntry{{Step: "cut-over/there:6379"}}
		})},
		"stepping back changes nothing": {state: asked(follows, func(s *ops.State) {
			s.Operation.Status.Phase = v1alpha1.PhaseCancelling
		})},
		"without quorum nothing is done": {state: asked(follows, func(s *ops.State) { opstest.NoQuorum(s) }),
			block: "no quorum: 3 of 3 members answer, and no majority agrees on a leader"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan := MakePlan(mover{}, c.state)
			got := opstest.IDs(plan)
			blocked := ""
			if plan.Blocked != nil {
				blocked = plan.Blocked.Message
			}
			if len(got) != len(c.want) || len(got) > 0 && got[0] != c.want[0] || blocked != c.block {
				t.Errorf("the steps are %v, blocked %q; want %v, %q", got, blocked, c.want, c.block)
			}
		})
	}
	o := *opstest.Operation(v1alpha1.VerbCutover)
	if err := Check(opstest.Stub{}, Request{Operation: o.Spec}, opstest.Well(3).Cluster); err == nil {
		t.Error("a database that follows nobody is cut over")
	}
	s := asked(nil, nil)
	if err := Resolve(mover{}, &s.Operation.Spec, s); err == nil {
		t.Error("a cluster that follows nobody any more is cut over")
	}
}

// TestSourceRefused: what can't be copied is told before the first byte, and nothing waits for it.
func TestSourceRefused(t *testing.T) {
	t.Parallel()
	s := opstest.Wanted(3)
	s.Cluster.Spec.Source = &v1alpha1.Source{Address: "there:6379"}
	s.Operation = opstest.Operation(v1alpha1.VerbCreate)
	for len(s.Kube.Members) < 3 {
		d := Decide(mover{}, s)
		if d.Step == nil {
			t.Fatalf("it does nothing: %+v", d)
		}
		s = Predict(mover{}, s, *d.Step)
	}
	s.View.Source = &engine.Source{Address: "there:6379", Problem: "it has modules", Refused: true}
	if d := Decide(mover{}, s); d.Blocked == nil || d.Blocked.Check != "source" {
		t.Errorf("the decision is %+v", d)
	}
	s.View.Source.Refused = false
	if d := Decide(mover{}, s); d.Step == nil || d.Step.ID != "wait/source" {
		t.Errorf("the decision is %+v", d)
	}
}

func TestCheckSource(t *testing.T) {
	t.Parallel()
	for address, fits := range map[string]bool{"redis:6379": true, "10.0.0.7:6379": true, "[fd00::7]:6379": true,
		"redis": false, "redis:0": false, "redis:redis": false, ":6379": false, "localhost:6379": false,
		"127.0.0.1:6379": false} {
		s := opstest.Wanted(3)
		s.Cluster.Spec.Source = &v1alpha1.Source{Address: address}
		err := Check(mover{}, Request{Operation: v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbCreate},
			Cluster: s.Cluster}, s.Cluster)
		if (err == nil) != fits {
			t.Errorf("%s: %v", address, err)
		}
	}
}
