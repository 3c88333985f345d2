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
		return slices.Equal(have.Waive, asked.Waive) && have.CutoverParameters == asked.CutoverParameters
	}}
}

// Check implements rules.Operation.
func (Cutover) Check(e engine.Engine, o v1alpha1.OperationSpec, _, _ *v1alpha1.DatabaseCluster) error {
	switch {
	case !e.Capabilities().Source:
		return followsNothing(o.Cluster)
	case o.WayBack && o.Finish:
		return &engine.Refusal{Check: engine.CheckBack, Reason: "a way back is prepared or given up, not both",
			Hint: "leave out one of them"}
	case o.WayBack || o.Finish:
		return checkFollowed(e)
	}
	return nil
}

// Resolve refuses where nothing is followed any more.
func (Cutover) Resolve(_ engine.Engine, o *v1alpha1.OperationSpec, s ops.State) error {
	if s.View.Quorum && s.View.Source == nil && !o.Finish {
		return followsNothing(o.Cluster)
	}
	return nil
}

// checkFollowed refuses where no cluster follows the one that took its place.
func checkFollowed(e engine.Engine) error {
	if _, ok := e.(engine.Followed); ok {
		return nil
	}
	return &engine.Refusal{Check: engine.CheckBack,
		Reason: "a cluster of " + e.Name() + " follows no other one of this tool",
		Hint:   "a cut over of it has no way back"}
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
	if p.S.Operation.Spec.Finish {
		return finishCutover(p)
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
	reason := "from then on the cluster does not follow it any more: what is written there later does not come here"
	if p.S.Operation.Spec.WayBack {
		reason += "; what it needs to follow this cluster is prepared before the first write"
	}
	return rules.Do(ops.Step{ID: string(ops.ActionCutOver) + "/" + from.Address, Action: ops.ActionCutOver,
		Risk: ops.RiskIrreversible, Deadline: rules.StepDeadline, Title: title,
		Reason: reason})
}

// finishCutover gives up the way back.
func finishCutover(p rules.Situation) *ops.Decision {
	if p.S.Fact(v1alpha1.FactFinished) != "" {
		return nil
	}
	return rules.Do(ops.Step{ID: string(ops.ActionEndBack), Action: ops.ActionEndBack, Risk: ops.RiskIrreversible,
		Deadline: rules.StepDeadline, Title: "Drop what the former cluster needs to follow this one",
		Reason: "nothing keeps the log for it any more, and what is written here from then on never comes there"})
}
