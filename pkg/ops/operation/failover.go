package operation

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// Failover has a member lead that the members do not choose by themselves, because acknowledged writes may be lost with
// it: a person decides that.
type Failover struct{ rules.Plain }

// Traits implements rules.Operation.
func (Failover) Traits() rules.Traits { return rules.Traits{SparesMembers: true, NoWayBack: true} }

// Manners implements rules.Operation. What waits for a leader would never end without it.
func (Failover) Manners() ops.Manners {
	return ops.Manners{Recovers: true, StepsBack: ops.Anytime, Same: sameMember}
}

// Check implements rules.Operation.
func (Failover) Check(e engine.Engine, o v1alpha1.OperationSpec, _, _ *v1alpha1.DatabaseCluster) error {
	if e.Capabilities().Failover {
		return nil
	}
	return &engine.Refusal{Check: "failover", Reason: e.Name() + " elects its leader itself, and loses nothing by that",
		Hint: "kubectl dbop switchover " + o.Cluster + " moves leadership"}
}

// Resolve writes down who is to lead, and what that loses.
func (Failover) Resolve(_ engine.Engine, o *v1alpha1.OperationSpec, s ops.State) error {
	if l, ok := s.View.Leader(); ok && l.Serving {
		return &engine.Refusal{Check: "leader", Reason: l.Name + " leads, so no member has to be appointed",
			Hint: "kubectl dbop switchover " + o.Cluster + " moves leadership"}
	}
	if len(s.View.Candidates) == 0 {
		return &engine.Refusal{Check: "candidates",
			Reason: "the members of " + o.Cluster + " don't wait for somebody to appoint one of them",
			Hint:   "kubectl dbop diagnose " + o.Cluster + " shows what they wait for"}
	}
	if o.Member == "" {
		o.Member = s.View.Candidates[0].Member
	}
	c, ok := s.View.Candidate(o.Member)
	if !ok {
		return &engine.Refusal{Check: "candidates", Reason: o.Member + " did not report how much of the data it holds",
			Hint: fmt.Sprintf("kubectl dbop failover %s --to %s takes the one that holds the most", o.Cluster,
				s.View.Candidates[0].Member)}
	}
	o.Evidence = []string{c.Member + ": " + c.Loss}
	return nil
}

// Steps implements rules.Operation.
func (Failover) Steps() rules.Steps { return rules.Steps{First: failover} }

// failover appoints the member that was written down. It ends as soon as any member leads: members that came back have
// settled it by themselves then, and lost less.
func failover(p rules.Situation) *ops.Decision {
	if l, ok := p.S.View.Leader(); ok && l.Serving || p.S.Cancelling() {
		return &ops.Decision{Done: true}
	}
	if d := p.QuorumFirst(); d != nil {
		return d
	}
	to := p.S.Operation.Spec.Member
	c, ok := p.S.View.Candidate(to)
	if !ok {
		return p.Await("leader", "the members settle who leads", to)
	}
	return rules.Do(ops.Step{ID: "fail-over/" + to, Action: ops.ActionFailOver, Members: []string{to}, To: to,
		Risk: ops.RiskIrreversible, Deadline: rules.StepDeadline,
		Title: "Appoint " + to + " to lead, and give up what it lacks", Reason: c.Loss})
}
