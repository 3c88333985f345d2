package planner

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// upgrade moves members to the wanted version one by one: those that don't
// take part first, then followers, the leader last after it handed over to a
// member that is upgraded already. Between two of them every member must be
// healthy. It goes back the same way while the engine still allows it. No
// other verb restarts members for their version: whoever asked for it gave up,
// and the checks and the backup of an upgrade belong to it.
func (p Planner) upgrade() *ops.Decision {
	if p.S.Verb() != v1alpha1.VerbUpgrade {
		return nil
	}
	outdated := p.outdated()
	if len(outdated) == 0 {
		if d := p.settledAt(p.voterNames()); d != nil {
			return d
		}
		if err := p.E.CheckUpgraded(p.S.View, p.S.Cluster.Spec.Version); err != nil && !p.S.Cancelling() {
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
func (p Planner) upgradeStep(member string, risk ops.Risk) ops.Step {
	return p.moveStep(ops.ActionUpgrade, member, risk)
}

// moveStep restarts one member on the wanted version.
func (p Planner) moveStep(action ops.Action, member string, risk ops.Risk) ops.Step {
	return ops.Step{ID: string(action) + "/" + member, Action: action, Members: []string{member}, Risk: risk, Deadline: WaitDeadline,
		Title:   fmt.Sprintf("Restart %s on %s", member, p.S.Cluster.Spec.Version),
		Touches: []string{"statefulset/" + member, "pod/" + v1alpha1.PodName(member)}}
}

// mayUpgrade asks everything that must hold before, and again during, the roll.
func (p Planner) mayUpgrade() *ops.Decision {
	target := p.S.Cluster.Spec.Version
	if p.S.Cancelling() {
		return p.mayRollBack(target)
	}
	if p.Began(ops.ActionUpgrade) {
		return nil
	}
	if err := p.E.CheckUpgrade(p.S.View, p.S.Cluster.Spec, target); err != nil {
		return p.gate("may-upgrade", err, p.voterNames()...)
	}
	if d := p.mayStop(); d != nil {
		return d
	}
	if !p.S.Waives("backup") {
		if d := p.backupFirst(true, true); d != nil {
			return d
		}
	}
	return p.prepare(target)
}

// prepare does to the running members what the engine needs before the first restart.
func (p Planner) prepare(target string) *ops.Decision {
	why := p.E.Preparation(p.S.View, target)
	if why == "" || p.S.Fact(v1alpha1.FactPrepared) != "" {
		return nil
	}
	return do(ops.Step{ID: "prepare-upgrade", Action: ops.ActionPrepare, Members: p.voterNames(), Risk: ops.RiskNone, Deadline: WaitDeadline,
		Title: "Prepare the members for " + target, Reason: why})
}

// mayRollBack asks whether the way back is open still. Once every member runs
// the newer series, the database may take the last step at any moment, between
// this look and the next deed too, and an older member would never start again.
func (p Planner) mayRollBack(target string) *ops.Decision {
	if err := p.E.CheckRollback(p.S.View, target); err != nil {
		return block(ops.Refusal(err))
	}
	newer := p.S.Operation.Spec.Version
	if ops.Minor(newer) == ops.Minor(target) {
		return nil
	}
	for _, name := range p.voterNames() {
		if pod := p.S.Kube.Member(name).Pod; !pod.Running || pod.Version != newer {
			return nil
		}
	}
	return block(&ops.Error{Kind: ops.Refused, Check: "rollback",
		Message: fmt.Sprintf("every member runs %s already, so the data may change its format at any moment", newer),
		Hint:    "finish it: kubectl dbop resume " + p.S.Cluster.Name + "; the way back is a restore"})
}

// outdated lists voters whose workload or pod is not of the wanted version.
func (p Planner) outdated() []string {
	var out []string
	for _, name := range p.voterNames() {
		m := p.S.Kube.Member(name)
		if m.Workload.Exists && (m.Workload.Version != p.S.Cluster.Spec.Version || (m.Pod.Exists && m.Pod.Version != p.S.Cluster.Spec.Version)) {
			out = append(out, name)
		}
	}
	return out
}

// settledAt waits until those members run the wanted version and are healthy: the pause on red.
func (p Planner) settledAt(names []string) *ops.Decision {
	for _, name := range names {
		m := p.S.View.Member(name)
		if p.S.Cancelling() && p.gone(name) {
			continue // it is replaced afterwards, and what it has by then does not matter
		}
		if err := p.E.Health(p.S.View, name); err != nil {
			return p.await("healthy", err.Error(), name)
		}
		if m.Version != p.S.Cluster.Spec.Version {
			return p.await("healthy", fmt.Sprintf("%s still runs %s", name, m.Version), name)
		}
	}
	return nil
}
