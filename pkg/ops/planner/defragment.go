package planner

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// pressed is the share of its quota from which on a member is defragmented for
// any gain worth an eighth of the usual one.
const pressed = 0.8

// defragment gives back the space that deleted data left, one member at a
// time, because each does not answer meanwhile: followers first, the leader
// last after it handed over. Members where little is to gain are skipped.
func (p Planner) defragment() *ops.Decision {
	if p.S.Verb() != v1alpha1.VerbDefrag || p.S.Cancelling() {
		return nil
	}
	return p.defragmentNext(p.wasteful())
}

// defragmentNext defragments the next of these members.
func (p Planner) defragmentNext(wasteful []string) *ops.Decision {
	if len(wasteful) == 0 {
		return nil
	}
	if d := p.mayRestart(); d != nil {
		return d
	}
	for _, name := range p.voterNames() {
		if err := p.E.Health(p.S.View, name); err != nil {
			return p.gate("healthy", err, name)
		}
	}
	next := p.nextOutdated(wasteful)
	if d := p.handOverFirst(next, "the leader does not answer while it is defragmented", wasteful...); d != nil {
		return d
	}
	risk := ops.RiskNone
	if p.restartStops() {
		risk = ops.RiskDowntime
	}
	if pod := p.S.Kube.Member(next).Pod; pod.UID != "" && p.S.Fact(FactRemains(next)) == pod.UID {
		if risk == ops.RiskNone {
			risk = ops.RiskRestart
		}
		return do(ops.Step{ID: "restart-member/" + next, Action: ops.ActionRestart, Members: []string{next}, Risk: risk, Deadline: WaitDeadline,
			Title: "Restart " + next, Reason: "at its start it deletes the files that failed defragmentations left", Touches: []string{"pod/" + v1alpha1.PodName(next)}})
	}
	m := p.S.View.Member(next)
	return do(ops.Step{ID: "defragment-member/" + next, Action: ops.ActionDefragment, Members: []string{next}, Risk: risk, Deadline: StreamDeadline,
		Title: "Defragment " + next, Reason: fmt.Sprintf("%d of %d MiB are free space; it does not answer meanwhile", (m.DataBytes-m.UsedBytes)>>20, m.DataBytes>>20)})
}

// wasteful lists voters with enough to gain that were not done yet.
func (p Planner) wasteful() []string {
	usual := p.E.Capabilities().DefragmentGain
	if usual == 0 {
		return nil
	}
	var out []string
	for _, name := range p.voterNames() {
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

// FactRemains holds the UID of the pod of a member whose volume has files that
// failed defragmentations left. Its successor has deleted them.
func FactRemains(member string) string { return "remains/" + member }

// FactDefragmented is noted of each member, so that one where less was gained
// than promised is not done for ever.
func FactDefragmented(member string) string { return "defragmented-" + member }
