package contracttest

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

func health(t testing.TB, c Case) {
	for _, m := range c.View.Members {
		if err := c.Engine.Health(c.View, m.Name); err != nil {
			t.Errorf("%s: %v", m.Name, err)
		}
		if c.Engine.Health(silent(c.View, m.Name), m.Name) == nil {
			t.Errorf("%s is not reached and healthy", m.Name)
		}
		if c.Engine.Health(apart(c.View), m.Name) == nil {
			t.Errorf("%s is healthy among members of two clusters", m.Name)
		}
	}
	unknown := c.View
	for _, m := range c.View.Members {
		unknown = at(unknown, m.Name, "")
	}
	for _, m := range unknown.Members {
		if err := c.Engine.Health(unknown, m.Name); err != nil {
			t.Errorf("a plan predicts no positions, and %s is not healthy without: %v", m.Name, err)
		}
	}
	if c.Engine.Health(c.View, "nobody") == nil {
		t.Error("who is no member is healthy")
	}
}

func successors(t testing.TB, c Case) {
	leader, others := leaderAndOthers(c.View)
	if got := c.Engine.Successor(c.View, leader); !slices.Contains(others, got) {
		t.Errorf("%q follows %s", got, leader)
	}
	for _, ahead := range others {
		v := c.View
		for _, name := range []string{leader, ahead} {
			v = at(v, name, c.Positions[1])
		}
		if got := c.Engine.Successor(v, leader); got != ahead {
			t.Errorf("%s has all that the leader has, and %q is to follow", ahead, got)
		}
		if got := c.Engine.Successor(silent(v, ahead), leader); got == ahead {
			t.Errorf("%s is not reached and is to follow", ahead)
		}
	}
	if got := c.Engine.Successor(c.View, leader, others[0], others[1]); got != "" {
		t.Errorf("%s is to follow although nobody may", got)
	}
	if got := c.Engine.Successor(without(c.View), leader); got != "" {
		t.Errorf("%s is to follow without a majority", got)
	}
}

func sources(t testing.TB, c Case) {
	leader, _ := leaderAndOthers(c.View)
	if got := c.Engine.Source(c.View, true); got != leader {
		t.Errorf("the leader was asked for, and %q is taken", got)
	}
	for _, leads := range []bool{true, false} {
		for _, m := range c.View.Members {
			if got := c.Engine.Source(silent(c.View, m.Name), leads); got == m.Name {
				t.Errorf("%s is not reached and gives the backup", got)
			}
		}
	}
}

func candidates(t testing.TB, c Case) {
	leader, others := leaderAndOthers(c.View)
	if got := c.Engine.RemovalCandidate(c.View); !slices.Contains(others, got) {
		t.Errorf("%q leaves, and %s leads", got, leader)
	}
	for _, name := range others {
		if got := c.Engine.RemovalCandidate(silent(c.View, name)); got != name {
			t.Errorf("%s is not reached, and %q leaves", name, got)
		}
	}
	if got := c.Engine.RemovalCandidate(without(c.View)); got != "" {
		t.Errorf("%s leaves without a member list", got)
	}
}

func margins(t testing.TB, c Case) {
	all := c.Engine.Tolerates(c.View)
	for _, m := range c.View.Members {
		if less := c.Engine.Tolerates(silent(c.View, m.Name)); less != all-1 {
			t.Errorf("without %s %d more may fail, with all %d", m.Name, less, all)
		}
	}
	if got := c.Engine.Tolerates(without(c.View)); got >= 0 {
		t.Errorf("without a majority %d more may fail", got)
	}
}

// witnesses checks an engine that asks for them, with one in the place of the last member.
func witnesses(t testing.TB, c Case) {
	leader, others := leaderAndOthers(c.View)
	asks, session := false, connect(t, c)
	for n := range c.Engine.Capabilities().MaxMembers {
		spec := *c.Cluster.Spec.DeepCopy()
		spec.Members = int32(n + 1) // #nosec G115 -- a small number
		asks = asks || c.Engine.Witnesses(spec) > 0
	}
	if _, registers := session.(engine.WitnessRegistrar); registers != asks {
		t.Errorf("the engine asks for witnesses: %t, and can register them: %t", asks, registers)
	}
	if !asks {
		return
	}
	witness := others[len(others)-1]
	v := clone(c.View)
	for i := range v.MemberList {
		v.MemberList[i].Witness = v.MemberList[i].Name == witness
	}
	if err := c.Engine.Health(v, witness); err != nil {
		t.Errorf("a witness that answers: %v", err)
	}
	for what, got := range map[string]string{
		"follows":          c.Engine.Successor(v, append(others[:len(others)-1:len(others)-1], leader)...),
		"gives the backup": c.Engine.Source(silent(silent(v, leader), others[0]), false),
		"leaves":           c.Engine.RemovalCandidate(silent(v, witness)),
	} {
		if got == witness {
			t.Errorf("the witness %s", what)
		}
	}
	if loss := c.Engine.AssessLoss(v, witness); loss != "" {
		t.Errorf("a witness that goes loses %s", loss)
	}
	in := inputs(c)[0]
	whole := pod(t, c, in)
	if in.Witness = true; cmp.Diff(whole, pod(t, c, in)) == "" {
		t.Error("a witness has the pod of a member with data")
	}
}
