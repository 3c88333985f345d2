package operation

import (
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// Cutover ends that a cluster follows the server that it is a copy of, and has it take writes.
type Cutover struct{ rules.Plain }

// Traits implements rules.Operation.
func (Cutover) Traits() rules.Traits { return rules.Traits{SparesMembers: true, NoWayBack: true} }

// Manners implements rules.Operation. What came to a halt has changed nothing, and makes room for one that asks
// the source for less.
func (Cutover) Manners() ops.Manners {
	return ops.Manners{StepsBack: ops.Anytime, Yields: ops.Anytime, Same: func(have, asked v1alpha1.OperationSpec) bool {
		return slices.Equal(have.Waive, asked.Waive)
	}}
}

// Check implements rules.Operation.
func (Cutover) Check(e engine.Engine, o v1alpha1.OperationSpec, c, _ *v1alpha1.DatabaseCluster) error {
	if e.Capabilities().Source && c.Spec.Source != nil {
		return nil
	}
	return followsNothing(o.Cluster)
}

// Resolve refuses where nothing is followed any more.
func (Cutover) Resolve(_ engine.Engine, o *v1alpha1.OperationSpec, s ops.State) error {
	if s.View.Quorum && s.View.Source == nil {
		return followsNothing(o.Cluster)
	}
	return nil
}

func followsNothing(cluster string) error {
	return &engine.Refusal{Check: "source", Reason: cluster + " follows no other server",
		Hint: "kubectl dbop status " + cluster + " shows who leads"}
}

// Steps implements rules.Operation.
func (Cutover) Steps() rules.Steps { return rules.Steps{Running: cutover} }

// cutover waits until the source is followed. A source that is followed no more was cut over.
func cutover(p rules.Situation) *ops.Decision {
	if p.S.Cancelling() || p.S.Fact(v1alpha1.FactCutOver) != "" {
		return nil
	}
	if d := p.QuorumFirst(); d != nil {
		return d
	}
	from := p.S.View.Source
	switch {
	case from == nil && p.Began(ops.ActionCutOver):
		return nil
	case from == nil:
		return p.Await("source", "no member says that it follows the source")
	case !from.Following:
		return p.Await("source", "the data of "+from.Address+" is still being copied")
	case !from.Linked:
		return p.Await("source", from.Text())
	}
	title := "Have " + from.Address + " pause writes, wait until all of them are here, and take writes"
	if p.S.Waives(engine.CheckWriters) {
		title = "See that nobody writes to " + from.Address + ", wait until all of it is here, and take writes"
	}
	return rules.Do(ops.Step{ID: string(ops.ActionCutOver) + "/" + from.Address, Action: ops.ActionCutOver,
		Risk: ops.RiskIrreversible, Deadline: rules.StepDeadline, Title: title,
		Reason: "from then on the cluster does not follow it any more: what is written there later does not come here"})
}
