package simulation

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/test/simulation/replicated"
)

// agentMistake is a mistake, and a part of what the world has to say of it.
type agentMistake struct {
	mistake
	says string
}

// agentMistakes are made on purpose, beside a primary with replicas.
func agentMistakes() []agentMistake {
	make := func(name, says string, decide decider) agentMistake {
		return agentMistake{mistake{name: name, decide: decide}, says}
	}
	return []agentMistake{
		make("a member deleted for its absence", "nobody asked for that member to be removed", deletedForAbsence),
		make("a removal that was given up is still written down", "it is written down that it is being removed", neverKept),
		make("two primaries accepted", "lead, both", rivalsAccepted),
		make("an empty primary wins", "are lost", bootstrapNotDisabled),
		make("the primary restarted while its successor lags", "nobody took over from it", successorNotAwaited),
		make("the last copy removed", "the last copy of acknowledged writes", lastCopyRemoved),
		make("the witness lost", "witnesses of", witnessForgotten),
		make("a witness with data", "is that of a witness", witnessWithData),
		make("a vote given by the tool", "the agents' to give", promotedByHand),
		{mistake{name: "a vote given too early", decide: planner.Decide, mischief: Mischief{EarlyVotes: true}},
			"before it has joined"},
		{mistake{name: "every member votes", decide: planner.Decide, mischief: Mischief{EvenVotes: true}},
			"an even number"},
		{mistake{name: "an empty proof trusted", decide: planner.Decide, mischief: Mischief{EmptyProofs: true}},
			"proves nothing"},
	}
}

// TestAgentMistakes makes one mistake at a time; each must be caught, for what it is.
func TestAgentMistakes(t *testing.T) {
	for _, m := range agentMistakes() {
		if *mistakeFlag != "" && *mistakeFlag != m.name {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			for seed := max(*seedFlag, 1); seed < max(*seedFlag, 1)+enough; seed++ {
				o := play(t, replicated.New(), seed, m.mischief, m.decide)
				if n := slices.IndexFunc(o.all, func(line string) bool { return strings.Contains(line, m.says) }); n >= 0 {
					t.Logf("caught in world %d: %s", seed, o.all[n])
					return
				}
			}
			t.Errorf("not caught in %d worlds", enough)
		})
	}
}

// deletedForAbsence takes everybody who is not listed for one whose removal was started.
func deletedForAbsence(e engine.Engine, s ops.State) ops.Decision {
	if s.View.Quorum && s.Cluster != nil {
		s.Cluster = s.Cluster.DeepCopy()
		for _, m := range s.Kube.Members {
			if _, listed := s.View.Registered(m.Name); !listed {
				s.Cluster.Status.Bootstrap.Remove(m.Name, true)
			}
		}
	}
	return planner.Decide(e, s)
}

// neverKept leaves written down what was given up.
func neverKept(e engine.Engine, s ops.State) ops.Decision {
	d := planner.Decide(e, s)
	if d.Step == nil || d.Step.Action != ops.ActionKeep {
		return d
	}
	s.Cluster = s.Cluster.DeepCopy()
	s.Cluster.Status.Bootstrap.Removing = nil
	return planner.Decide(e, s)
}

// rivalsAccepted believes the first primary that it meets.
func rivalsAccepted(e engine.Engine, s ops.State) ops.Decision {
	s.View.Members = slices.Clone(s.View.Members)
	for i, name := range s.View.Rivals() {
		for j := range s.View.Members {
			if m := &s.View.Members[j]; i > 0 && m.Name == name {
				m.Role, m.Leader = engine.RoleReplica, s.View.Member(s.View.Rivals()[0]).ID
			}
		}
	}
	return planner.Decide(e, s)
}

// successorNotAwaited restarts the primary where nobody is fit to take over.
func successorNotAwaited(e engine.Engine, s ops.State) ops.Decision {
	if s.Operation != nil {
		s.Operation = s.Operation.DeepCopy()
		s.Operation.Spec.Waive = append(s.Operation.Spec.Waive, "successor")
	}
	return planner.Decide(e, s)
}

// lastCopyRemoved drops the volume of the primary that is to hand over before it leaves.
func lastCopyRemoved(e engine.Engine, s ops.State) ops.Decision {
	d := planner.Decide(e, s)
	if d.Step == nil || d.Step.Action != ops.ActionWait && d.Step.Action != ops.ActionHandOver {
		return d
	}
	leader, ok := s.View.Leader()
	if verb := s.Verb(); !ok || verb != v1alpha1.VerbScale && verb != v1alpha1.VerbRemoveMember &&
		verb != v1alpha1.VerbReplaceMember && verb != v1alpha1.VerbAddMember {
		return d
	}
	return ops.Decision{Step: &ops.Step{ID: "delete-volumes/" + leader.Name, Action: ops.ActionDeleteVolume,
		Members: []string{leader.Name},
		Risk:    ops.RiskIrreversible, Deadline: time.Minute}}
}

// noWitnesses is the engine without its witnesses.
type noWitnesses struct{ replicated.Engine }

func (noWitnesses) Witnesses(v1alpha1.DatabaseClusterSpec) int { return 0 }

func witnessForgotten(_ engine.Engine, s ops.State) ops.Decision {
	return planner.Decide(noWitnesses{replicated.New()}, s)
}

// witnessWithData announces witnesses, and does not write down who is one.
func witnessWithData(e engine.Engine, s ops.State) ops.Decision {
	if s.Cluster != nil && s.Cluster.Status.Bootstrap != nil {
		s.Cluster.Status.Bootstrap.Witnesses = nil
	}
	return planner.Decide(e, s)
}

// withLearners is the engine as one whose members wait to be promoted.
type withLearners struct{ replicated.Engine }

func (e withLearners) Capabilities() engine.Capabilities {
	c := e.Engine.Capabilities()
	c.Learners = true
	return c
}

func promotedByHand(_ engine.Engine, s ops.State) ops.Decision {
	return planner.Decide(withLearners{replicated.New()}, s)
}
