package ops

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// upgrade moves members to the wanted version one by one: those that don't
// take part first, then followers, the leader last after it handed over to a
// member that is upgraded already. Between two of them every member must be
// healthy. It goes back the same way while the engine still allows it. No
// other verb restarts members for their version: whoever asked for it gave up,
// and the checks and the backup of an upgrade belong to it.
func (p planner) upgrade() *Decision {
	if p.s.verb() != v1alpha1.VerbUpgrade {
		return nil
	}
	outdated := p.outdated()
	if len(outdated) == 0 {
		if d := p.settledAt(p.voterNames()); d != nil {
			return d
		}
		if err := p.e.CheckUpgraded(p.s.View, p.s.Cluster.Spec.Version); err != nil && !p.s.cancelling() {
			return p.await("upgraded", err.Error(), p.voterNames()...)
		}
		return nil
	}
	if d := p.mayUpgrade(); d != nil {
		return d
	}
	if d := p.settledAt(p.except(outdated)); d != nil {
		return d
	}
	return p.inTurn(outdated, "the leader restarts last, after it handed over to an upgraded member", p.upgradeStep)
}

// upgradeStep moves one member up, or back to where it was.
func (p planner) upgradeStep(member string, risk Risk) Step {
	return p.moveStep(ActionUpgrade, member, risk)
}

// moveStep restarts one member on the wanted version.
func (p planner) moveStep(action Action, member string, risk Risk) Step {
	return Step{ID: string(action) + "/" + member, Action: action, Members: []string{member}, Risk: risk, Deadline: waitDeadline,
		Title:   fmt.Sprintf("Restart %s on %s", member, p.s.Cluster.Spec.Version),
		Touches: []string{"statefulset/" + member, "pod/" + v1alpha1.PodName(member)}}
}

// mayUpgrade asks everything that must hold before, and again during, the roll.
func (p planner) mayUpgrade() *Decision {
	target := p.s.Cluster.Spec.Version
	if p.s.cancelling() {
		return p.mayRollBack(target)
	}
	if p.began(ActionUpgrade) {
		return nil
	}
	if err := p.e.CheckUpgrade(p.s.View, p.s.Cluster.Spec, target); err != nil {
		return p.gate("may-upgrade", err, p.voterNames()...)
	}
	if d := p.mayStop(); d != nil {
		return d
	}
	if !p.s.waives("backup") {
		if d := p.backupFirst(true, true); d != nil {
			return d
		}
	}
	return p.prepare(target)
}

// prepare does to the running members what the engine needs before the first restart.
func (p planner) prepare(target string) *Decision {
	why := p.e.Preparation(p.s.View, target)
	if why == "" || p.s.fact(v1alpha1.FactPrepared) != "" {
		return nil
	}
	return do(Step{ID: "prepare-upgrade", Action: ActionPrepare, Members: p.voterNames(), Risk: RiskNone, Deadline: waitDeadline,
		Title: "Prepare the members for " + target, Reason: why})
}

// mayRollBack asks whether the way back is open still. Once every member runs
// the newer series, the database may take the last step at any moment, between
// this look and the next deed too, and an older member would never start again.
func (p planner) mayRollBack(target string) *Decision {
	if err := p.e.CheckRollback(p.s.View, target); err != nil {
		return block(refused(err))
	}
	newer := p.s.Operation.Spec.Version
	if minor(newer) == minor(target) {
		return nil
	}
	for _, name := range p.voterNames() {
		if pod := p.s.Kube.Member(name).Pod; !pod.Running || pod.Version != newer {
			return nil
		}
	}
	return block(&Error{Kind: Refused, Check: "rollback",
		Message: fmt.Sprintf("every member runs %s already, so the data may change its format at any moment", newer),
		Hint:    "finish it: kubectl dbop resume " + p.s.Cluster.Name + "; the way back is a restore"})
}

// outdated lists voters whose workload or pod is not of the wanted version.
func (p planner) outdated() []string {
	var out []string
	for _, name := range p.voterNames() {
		m := p.s.Kube.Member(name)
		if m.Workload.Exists && (m.Workload.Version != p.s.Cluster.Spec.Version || (m.Pod.Exists && m.Pod.Version != p.s.Cluster.Spec.Version)) {
			out = append(out, name)
		}
	}
	return out
}

// settledAt waits until those members run the wanted version and are healthy: the pause on red.
func (p planner) settledAt(names []string) *Decision {
	for _, name := range names {
		m := p.s.View.Member(name)
		if p.s.cancelling() && p.gone(name) {
			continue // it is replaced afterwards, and what it has by then does not matter
		}
		if err := p.e.Health(p.s.View, name); err != nil {
			return p.await("healthy", err.Error(), name)
		}
		if m.Version != p.s.Cluster.Spec.Version {
			return p.await("healthy", fmt.Sprintf("%s still runs %s", name, m.Version), name)
		}
	}
	return nil
}
