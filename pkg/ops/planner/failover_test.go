package planner

import (
	"errors"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/operation"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// waiting is a cluster whose members wait for somebody to appoint one of them: db-1, which led, is gone.
func waiting() ops.State {
	s := opstest.Well(3)
	opstest.Down(&s, "db-1", "", 0)
	for i := range s.View.Members {
		m := &s.View.Members[i]
		m.Role, m.Leader, m.Serving = engine.RoleReplica, "", false
	}
	s.View.Candidates = []engine.Candidate{{Member: "db-3", Loss: "7 bytes are missing"},
		{Member: "db-2", Loss: "9 bytes are missing"}}
	return s
}

func TestFailover(t *testing.T) {
	t.Parallel()
	asked := func(change func(*ops.State)) ops.State {
		s := waiting()
		s.Operation = opstest.Operation(v1alpha1.VerbFailover)
		s.Operation.Spec.Member = "db-3"
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
		"nobody leads": {state: asked(nil), want: []string{"fail-over/db-3"}},
		"somebody leads by now": {state: asked(func(s *ops.State) {
			s.View.Candidates = nil
			s.Lead("db-2")
		})},
		"stepping back changes nothing": {state: asked(
			func(s *ops.State) { s.Operation.Status.Phase = v1alpha1.PhaseCancelling })},
		"without quorum nothing is done": {state: asked(func(s *ops.State) { opstest.NoQuorum(s) }),
			block: "no quorum: 2 of 3 members answer, and no majority agrees on a leader"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			judge(t, opstest.Stub{}, c.state, c.want, c.block)
		})
	}
	plan := MakePlan(opstest.Stub{}, asked(nil))
	if len(plan.Steps) != 1 || plan.Steps[0].Risk != ops.RiskIrreversible ||
		plan.Steps[0].Reason != "7 bytes are missing" {
		t.Errorf("the plan does not say what is lost: %+v", plan.Steps)
	}
}

// TestFailoverResolves: who is to lead and what that loses is written down, or the request is refused.
func TestFailoverResolves(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change   func(*ops.State)
		to       string
		want     string
		evidence string
		refused  string
	}{
		"the one that holds the most": {want: "db-3", evidence: "db-3: 7 bytes are missing"},
		"another":                     {to: "db-2", want: "db-2", evidence: "db-2: 9 bytes are missing"},
		"one that did not report":     {to: "db-1", refused: "candidates"},
		"a leader serves": {change: func(s *ops.State) { s.Lead("db-2") },
			refused: "leader"},
		"they settle it themselves": {change: func(s *ops.State) { s.View.Candidates = nil }, refused: "candidates"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, o := waiting(), v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbFailover, Member: c.to}
			if c.change != nil {
				c.change(&s)
			}
			err := operation.Failover{}.Resolve(opstest.Stub{}, &o, s)
			refusal, _ := errors.AsType[*engine.Refusal](err)
			switch {
			case c.refused != "":
				if refusal == nil || refusal.Check != c.refused {
					t.Errorf("got %v", err)
				}
			case err != nil || o.Member != c.want || len(o.Evidence) != 1 || o.Evidence[0] != c.evidence:
				t.Errorf("got %s, %v, %v", o.Member, o.Evidence, err)
			}
		})
	}
	err := operation.Failover{}.Check(opstest.Stub{}, v1alpha1.OperationSpec{Cluster: "db"}, nil, nil)
	if !errors.Is(err, engine.ErrRefused) {
		t.Errorf("an engine that elects its leader has no failover: %v", err)
	}
}
