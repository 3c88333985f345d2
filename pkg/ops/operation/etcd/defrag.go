package etcd

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// Defrag gives back the space that deleted data left.
type Defrag struct{ rules.Plain }

// Manners implements rules.Operation.
func (Defrag) Manners() ops.Manners { return ops.Manners{StepsBack: ops.Anytime, Yields: ops.Anytime} }

// Check implements rules.Operation.
func (Defrag) Check(e engine.Engine, _ v1alpha1.OperationSpec, _, _ *v1alpha1.DatabaseCluster) error {
	if e.Capabilities().DefragmentGain > 0 {
		return nil
	}
	return &engine.Refusal{Check: "defragmentation", Hint: notEvery,
		Reason: "members of " + e.Name() + " can't be defragmented by this tool"}
}

// Steps implements rules.Operation.
func (Defrag) Steps() rules.Steps { return rules.Steps{Sized: defragment} }

// Undo implements rules.Operation.
func (Defrag) Undo(u *rules.Undoing) error { return u.Unchanged() }

// pressed is the share of its quota from which on a member is defragmented for
// any gain worth an eighth of the usual one.
const pressed = 0.8

// defragment gives back the space that deleted data left, one member at a
// time, because each does not answer meanwhile: followers first, the leader
// last after it handed over. Members where little is to gain are skipped.
func defragment(p rules.Situation) *ops.Decision {
	if p.S.Cancelling() {
		return nil
	}
	return defragmentNext(p, wasteful(p))
}

// defragmentNext defragments the next of these members.
func defragmentNext(p rules.Situation, wasteful []string) *ops.Decision {
	if len(wasteful) == 0 {
		return nil
	}
	if d := p.MayRestart(); d != nil {
		return d
	}
	for _, name := range p.VoterNames() {
		if err := p.E.Health(p.S.View, name); err != nil {
			return p.Gate("healthy", err, name)
		}
	}
	next := p.NextOutdated(wasteful)
	if d := p.HandOverFirst(next, "the leader does not answer while it is defragmented", wasteful...); d != nil {
		return d
	}
	risk := ops.RiskNone
	if p.RestartStops() {
		risk = ops.RiskDowntime
	}
	if pod := p.S.Kube.Member(next).Pod; pod.UID != "" && p.S.Fact(FactLeftovers(next)) == pod.UID {
		if risk == ops.RiskNone {
			risk = ops.RiskRestart
		}
		return rules.Do(ops.Step{ID: "restart-member/" + next, Action: ops.ActionRestart,
			Members: []string{next}, Risk: risk,
			Deadline: rules.WaitDeadline,
			Title:    "Restart " + next, Reason: "at its start it deletes the files that failed defragmentations left",
			Touches: []string{"pod/" + v1alpha1.PodName(next)}})
	}
	m := p.S.View.Member(next)
	return rules.Do(ops.Step{ID: "defragment-member/" + next, Action: ops.ActionDefragment, Members: []string{next},
		Risk: risk, Deadline: rules.LongDeadline,
		Title: "Defragment " + next, Reason: fmt.Sprintf("%d of %d MiB are free space; it does not answer meanwhile",
			(m.DataBytes-m.UsedBytes)>>20, m.DataBytes>>20)})
}

// wasteful lists voters with enough to gain that were not done yet.
func wasteful(p rules.Situation) []string {
	usual := p.E.Capabilities().DefragmentGain
	if usual == 0 {
		return nil
	}
	var out []string
	for _, name := range p.VoterNames() {
		m, least := p.S.View.Member(name), usual
		if m.QuotaBytes > 0 && float64(m.DataBytes) > pressed*float64(m.QuotaBytes) {
			least = usual / 8
		}
		if g := p.S.Operation.Spec.MinGain; g > 0 {
			least = g
		}
		if p.S.Fact(FactDefragmented(name)) == "" && m.Reachable && m.DataBytes-m.UsedBytes >= least {
			out = append(out, name)
		}
	}
	return out
}

// FactLeftovers holds the UID of the pod of a member whose volume has files that
// failed defragmentations left. Its successor has deleted them.
func FactLeftovers(member string) string { return "leftovers/" + member }

// FactDefragmented is noted of each member, so that one where less was gained
// than promised is not done for ever.
func FactDefragmented(member string) string { return "defragmented-" + member }
