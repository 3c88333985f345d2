package etcd

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// Compact drops history.
type Compact struct{ rules.Plain }

// Traits implements rules.Operation.
func (Compact) Traits() rules.Traits { return rules.Traits{SparesMembers: true} }

// Manners implements rules.Operation.
func (Compact) Manners() ops.Manners {
	return ops.Manners{StepsBack: ops.Anytime, Same: sameCompaction}
}

// Check implements rules.Operation.
func (Compact) Check(e engine.Engine, _ v1alpha1.OperationSpec, _, _ *v1alpha1.DatabaseCluster) error {
	return checkHistory(e)
}

// Resolve implements rules.Operation.
func (Compact) Resolve(e engine.Engine, o *v1alpha1.OperationSpec, s ops.State) error {
	return pinCompactRevision(e, o, s.View)
}

// Steps implements rules.Operation.
func (Compact) Steps() rules.Steps { return rules.Steps{Sized: compact} }

// compact drops history. Members that are down do it when they are back, so
// nobody is waited for.
func compact(p rules.Situation) *ops.Decision {
	if p.S.Cancelling() {
		return nil
	}
	return compaction(p)
}

// compaction drops the history before the revision that the record names, so
// that a repeat drops no more; nil once that is done, or if nothing is to drop.
func compaction(p rules.Situation) *ops.Decision {
	h, ok := p.E.(engine.CompactionRules)
	c := p.S.Operation.Spec.Compaction
	if !ok || c == nil || c.Before == 0 || p.S.Fact(v1alpha1.FactCompacted) != "" {
		return nil
	}
	if d := p.QuorumFirst(); d != nil {
		return d
	}
	var members []string
	for _, name := range p.VoterNames() {
		if p.S.View.Member(name).Reachable {
			members = append(members, name)
		}
	}
	return rules.Do(ops.Step{ID: string(ops.ActionCompact), Action: ops.ActionCompact, Members: members,
		Risk: ops.RiskIrreversible, Deadline: rules.LongDeadline,
		Title: fmt.Sprintf("Drop the history before revision %d", c.Before), Reason: h.CompactImpact(c.Before)})
}

// checkHistory refuses to drop what an engine does not keep.
func checkHistory(e engine.Engine) error {
	if _, ok := e.(engine.CompactionRules); !ok {
		return &engine.Refusal{Check: "history", Reason: e.Name() + " keeps no history of its data that could be dropped",
			Hint: notEvery}
	}
	return nil
}

// pinCompactRevision writes down up to where history goes. The present revision moves
// on with every write, and a repeat must mean the same.
func pinCompactRevision(e engine.Engine, o *v1alpha1.OperationSpec, v engine.View) error {
	h, ok := e.(engine.CompactionRules)
	if !ok || o.Compaction == nil {
		return nil
	}
	pinned := *o.Compaction
	var err error
	pinned.Before, err = h.CompactRevision(v, pinned.Revision, pinned.Keep)
	o.Compaction = &pinned
	return err
}

// sameCompaction compares what was asked for, not what it came to.
func sameCompaction(have, asked v1alpha1.OperationSpec) bool {
	a, b := have.Compaction, asked.Compaction
	if a == nil || b == nil {
		return a == b
	}
	return a.Revision == b.Revision && a.Keep == b.Keep
}
