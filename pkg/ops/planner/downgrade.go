package planner

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// downgrade takes the whole cluster to an older version. It is announced
// first: the cluster goes on with what the older version speaks and reads.
// Once every member says so they move one by one as in an upgrade. Cancelled,
// the announcement is taken back and whoever has moved comes back up.
func (p Planner) downgrade() *ops.Decision {
	if p.S.Verb() != v1alpha1.VerbDowngrade {
		return nil
	}
	outdated := p.outdated()
	if p.S.Cancelling() {
		if d := p.takeBack(); d != nil {
			return d
		}
	} else if len(outdated) > 0 {
		if d := p.mayDescend(); d != nil {
			return d
		}
	}
	if d := p.settledAt(p.except(outdated)); d != nil {
		return d
	}
	if len(outdated) > 0 {
		if d := p.lowered(); d != nil {
			return d
		}
		if d := p.fenceData(); d != nil {
			return d
		}
		return p.inTurn(outdated, "the leader restarts last, after it handed over to a member that has moved", p.downgradeStep)
	}
	if err := p.E.CheckUpgraded(p.S.View, p.S.Cluster.Spec.Version); err != nil {
		return p.await("versions-agree", err.Error(), p.voterNames()...)
	}
	if to := p.S.View.Downgrade; to != "" {
		return p.await("versions-agree", fmt.Sprintf("the downgrade to %s is not called off yet", to), p.voterNames()...)
	}
	return nil
}

// mayDescend asks everything that must hold before the first member moves.
// What counts is whether one runs the older version, not what the journal or
// its template says: cancelled and resumed, the cluster may be on top again,
// or on the way there.
func (p Planner) mayDescend() *ops.Decision {
	target, moved := p.S.Cluster.Spec.Version, p.someAsWanted() || p.someRun(p.S.Cluster.Spec.Version)
	if err := p.E.CheckDowngrade(p.S.View, p.S.Cluster.Spec, target); err != nil && !moved {
		return p.gate("may-downgrade", err, p.voterNames()...)
	}
	if d := p.mayStop(); d != nil {
		return d
	}
	if !p.S.Waives("backup") {
		if d := p.backupFirst(true, true); d != nil {
			return d
		}
	}
	if moved || p.S.View.Downgrade != "" || !p.E.Capabilities().Announce {
		return nil
	}
	return do(ops.Step{ID: string(ops.ActionAnnounce), Action: ops.ActionAnnounce, Members: p.voterNames(), Risk: ops.RiskNone, Deadline: StepDeadline,
		Title: "Announce the downgrade to " + target, Reason: "from then on the cluster speaks and writes only what " + ops.Minor(target) + " understands"})
}

// someRun reports whether the pod of a member is of that version.
func (p Planner) someRun(version string) bool {
	for _, name := range p.voterNames() {
		if pod := p.S.Kube.Member(name).Pod; pod.Exists && pod.Version == version {
			return true
		}
	}
	return false
}

// lowered waits until members may run the older version, and asks again before
// each of them. Whether the downgrade is still announced does not matter any
// more then: what was lowered stays so while one member runs the older version.
func (p Planner) lowered() *ops.Decision {
	if p.S.Cancelling() {
		return nil
	}
	if err := p.E.CheckLowered(p.S.View, p.S.Cluster.Spec.Version); err != nil {
		return p.await("lowered", err.Error(), p.voterNames()...)
	}
	return nil
}

// fenceData lets the engine make sure, before the first member moves, that none
// starts from something that only the newer version reads.
func (p Planner) fenceData() *ops.Decision {
	if p.S.Cancelling() || p.someAsWanted() {
		return nil
	}
	return p.prepare(p.S.Cluster.Spec.Version)
}

// takeBack takes the announcement back before anybody comes back up: while it
// stands, the cluster never speaks the newer version again. Those that come
// back need no preparation, for they wrote only what both versions understand.
func (p Planner) takeBack() *ops.Decision {
	if p.S.View.Downgrade == "" {
		return nil
	}
	return do(ops.Step{ID: string(ops.ActionWithdraw), Action: ops.ActionWithdraw, Members: p.voterNames(), Risk: ops.RiskNone, Deadline: StepDeadline,
		Title: "Take the downgrade to " + ops.Minor(p.S.View.Downgrade) + " back"})
}

// downgradeStep moves one member down, or up again.
func (p Planner) downgradeStep(member string, risk ops.Risk) ops.Step {
	if p.S.Cancelling() {
		return p.upgradeStep(member, risk)
	}
	return p.moveStep(ops.ActionDowngrade, member, risk)
}
