package ops

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// pressed is the share of its quota from which on a member is defragmented for
// any gain worth an eighth of the usual one.
const pressed = 0.8

// defragment gives back the space that deleted data left, one member at a
// time, because each does not answer meanwhile: followers first, the leader
// last after it handed over. Members where little is to gain are skipped.
func (p planner) defragment() *Decision {
	if p.s.verb() != v1alpha1.VerbDefrag || p.s.cancelling() {
		return nil
	}
	return p.defragmentNext(p.wasteful())
}

// defragmentNext defragments the next of these members.
func (p planner) defragmentNext(wasteful []string) *Decision {
	if len(wasteful) == 0 {
		return nil
	}
	if d := p.mayRestart(); d != nil {
		return d
	}
	for _, name := range p.voterNames() {
		if err := p.e.Health(p.s.View, name); err != nil {
			return p.gate("healthy", err, name)
		}
	}
	next := p.nextOutdated(wasteful)
	if leader, ok := p.s.View.Leader(); ok && leader.Name == next && len(p.voterNames()) > 1 && p.e.Capabilities().HandOver {
		if d := p.handOver(next, "the leader does not answer while it is defragmented", wasteful...); d != nil {
			return d
		}
	}
	risk := RiskNone
	if p.restartStops() {
		risk = RiskDowntime
	}
	if pod := p.s.Kube.Member(next).Pod; pod.UID != "" && p.s.fact(factRemains(next)) == pod.UID {
		if risk == RiskNone {
			risk = RiskRestart
		}
		return do(Step{ID: "restart-member/" + next, Action: ActionRestart, Members: []string{next}, Risk: risk, Deadline: waitDeadline,
			Title: "Restart " + next, Reason: "at its start it deletes the files that failed defragmentations left", Touches: []string{"pod/" + v1alpha1.PodName(next)}})
	}
	m := p.s.View.Member(next)
	return do(Step{ID: "defragment-member/" + next, Action: ActionDefragment, Members: []string{next}, Risk: risk, Deadline: streamDeadline,
		Title: "Defragment " + next, Reason: fmt.Sprintf("%d of %d MiB are free space; it does not answer meanwhile", (m.DataBytes-m.UsedBytes)>>20, m.DataBytes>>20)})
}

// wasteful lists voters with enough to gain that were not done yet.
func (p planner) wasteful() []string {
	usual := p.e.Capabilities().DefragmentGain
	if usual == 0 {
		return nil
	}
	var out []string
	for _, name := range p.voterNames() {
		m, least := p.s.View.Member(name), usual
		if m.QuotaBytes > 0 && float64(m.DataBytes) > pressed*float64(m.QuotaBytes) {
			least = usual / 8
		}
		if g := p.s.Operation.Spec.MinGain; g > 0 {
			least = g
		}
		if p.s.fact(factDefragmented(name)) == "" && m.Reachable && m.DataBytes-m.UsedBytes >= least {
			out = append(out, name)
		}
	}
	return out
}

// factRemains holds the UID of the pod of a member whose volume has files that
// failed defragmentations left. Its successor has deleted them.
func factRemains(member string) string { return "remains/" + member }

// factDefragmented is noted of each member, so that one where less was gained
// than promised is not done for ever.
func factDefragmented(member string) string { return "defragmented-" + member }
