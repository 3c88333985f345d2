package operation

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// Follow has a cluster follow the one that took its place by a cut over with a way back, without copying its data. A
// later cut over of it goes back.
type Follow struct{ rules.Plain }

// Traits implements rules.Operation.
func (Follow) Traits() rules.Traits { return rules.Traits{SparesMembers: true, NoWayBack: true} }

// Manners implements rules.Operation. What came to a halt has changed nothing.
func (Follow) Manners() ops.Manners {
	return ops.Manners{StepsBack: ops.Anytime, Yields: ops.Anytime, Same: func(have, asked v1alpha1.OperationSpec) bool {
		return have.Follow == asked.Follow
	}}
}

// Check implements rules.Operation.
func (Follow) Check(e engine.Engine, o v1alpha1.OperationSpec, _, _ *v1alpha1.DatabaseCluster) error {
	if o.Follow == "" || o.Follow == o.Cluster {
		return refuseSource("%s must follow another cluster", o.Cluster)
	}
	return checkFollowed(e)
}

// Steps implements rules.Operation.
func (Follow) Steps() rules.Steps { return rules.Steps{Running: follow} }

// Undo implements rules.Operation.
func (Follow) Undo(u *rules.Undoing) error {
	name := u.Of.Spec.Cluster
	return rules.NoUndo(name, name+" takes no writes again before a cut over", "kubectl dbop cutover "+name)
}

// follow agrees on it, and waits until the cluster follows.
func follow(p rules.Situation) *ops.Decision {
	other := p.S.Operation.Spec.Follow
	if p.S.Cancelling() {
		return nil
	}
	if d := p.QuorumFirst(); d != nil {
		return d
	}
	from := p.S.View.Source
	switch {
	case p.S.Fact(v1alpha1.FactFollows) == "":
		return rules.Do(ops.Step{ID: string(ops.ActionFollow) + "/" + other, Action: ops.ActionFollow,
			Risk: ops.RiskIrreversible, Deadline: rules.StepDeadline,
			Title:  "Follow " + other + " from its cut over on, without a copy",
			Reason: "no client is let in until a cut over of " + p.S.Cluster.Name + ", which goes back"})
	case from == nil:
		return p.Await("source", "no member says that it follows "+other)
	case !from.Following || !from.Linked:
		return p.Await("source", from.Text())
	}
	return nil
}
