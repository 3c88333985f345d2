package planner

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// compact drops history. Members that are down do it when they are back, so
// nobody is waited for.
func (p Planner) compact() *ops.Decision {
	if p.S.Verb() != v1alpha1.VerbCompact || p.S.Cancelling() {
		return nil
	}
	return p.compaction()
}

// compaction drops the history before the revision that the record names, so
// that a repeat drops no more; nil once that is done, or if nothing is to drop.
func (p Planner) compaction() *ops.Decision {
	h, ok := p.E.(engine.Historian)
	c := p.S.Operation.Spec.Compaction
	if !ok || c == nil || c.Before == 0 || p.S.Fact(v1alpha1.FactCompacted) != "" {
		return nil
	}
	if d := p.quorumFirst(); d != nil {
		return d
	}
	var members []string
	for _, name := range p.voterNames() {
		if p.S.View.Member(name).Reachable {
			members = append(members, name)
		}
	}
	return do(ops.Step{ID: string(ops.ActionCompact), Action: ops.ActionCompact, Members: members, Risk: ops.RiskIrreversible, Deadline: StreamDeadline,
		Title: fmt.Sprintf("Drop the history before revision %d", c.Before), Reason: h.Forgotten(c.Before)})
}

// checkHistory refuses to drop what an engine does not keep.
func checkHistory(e engine.Engine) error {
	if _, ok := e.(engine.Historian); !ok {
		return &engine.Refusal{Check: "history", Reason: e.Name() + " keeps no history of its data that could be dropped", Hint: "kubectl dbop engines shows what each engine can do"}
	}
	return nil
}

// pinHorizon writes down up to where history goes. The present revision moves
// on with every write, and a repeat must mean the same.
func pinHorizon(e engine.Engine, o *v1alpha1.OperationSpec, v engine.View) error {
	h, ok := e.(engine.Historian)
	if !ok || o.Compaction == nil {
		return nil
	}
	pinned := *o.Compaction
	var err error
	pinned.Before, err = h.Horizon(v, pinned.Revision, pinned.Keep)
	o.Compaction = &pinned
	return err
}
