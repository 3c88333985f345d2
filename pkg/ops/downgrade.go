package ops

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// downgrade takes the whole cluster to an older version. It is announced
// first: the cluster goes on with what the older version speaks and reads.
// Once every member says so they move one by one as in an upgrade. Cancelled,
// the announcement is taken back and whoever has moved comes back up.
func (p planner) downgrade() *Decision {
	if p.s.verb() != v1alpha1.VerbDowngrade {
		return nil
	}
	outdated := p.outdated()
	if p.s.cancelling() {
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
	if err := p.e.CheckUpgraded(p.s.View, p.s.Cluster.Spec.Version); err != nil {
		return p.await("versions-agree", err.Error(), p.voterNames()...)
	}
	if to := p.s.View.Downgrade; to != "" {
		return p.await("versions-agree", fmt.Sprintf("the downgrade to %s is not called off yet", to), p.voterNames()...)
	}
	return nil
}

// mayDescend asks everything that must hold before the first member moves.
// What counts is whether one runs the older version, not what the journal or
// its template says: cancelled and resumed, the cluster may be on top again,
// or on the way there.
func (p planner) mayDescend() *Decision {
	target, moved := p.s.Cluster.Spec.Version, p.someAsWanted() || p.someRun(p.s.Cluster.Spec.Version)
	if err := p.e.CheckDowngrade(p.s.View, p.s.Cluster.Spec, target); err != nil && !moved {
		return p.gate("may-downgrade", err, p.voterNames()...)
	}
	if d := p.mayStop(); d != nil {
		return d
	}
	if !p.s.waives("backup") {
		if d := p.backupFirst(true, true); d != nil {
			return d
		}
	}
	if moved || p.s.View.Downgrade != "" {
		return nil
	}
	return do(Step{ID: string(ActionAnnounce), Action: ActionAnnounce, Members: p.voterNames(), Risk: RiskNone, Deadline: stepDeadline,
		Title: "Announce the downgrade to " + target, Reason: "from then on the cluster speaks and writes only what " + minor(target) + " understands"})
}

// someRun reports whether the pod of a member is of that version.
func (p planner) someRun(version string) bool {
	for _, name := range p.voterNames() {
		if pod := p.s.Kube.Member(name).Pod; pod.Exists && pod.Version == version {
			return true
		}
	}
	return false
}

// lowered waits until members may run the older version, and asks again before
// each of them. Whether the downgrade is still announced does not matter any
// more then: what was lowered stays so while one member runs the older version.
func (p planner) lowered() *Decision {
	if p.s.cancelling() {
		return nil
	}
	if err := p.e.CheckLowered(p.s.View, p.s.Cluster.Spec.Version); err != nil {
		return p.await("lowered", err.Error(), p.voterNames()...)
	}
	return nil
}

// fenceData lets the engine make sure, before the first member moves, that none
// starts from something that only the newer version reads.
func (p planner) fenceData() *Decision {
	if p.s.cancelling() || p.someAsWanted() {
		return nil
	}
	return p.prepare(p.s.Cluster.Spec.Version)
}

// takeBack takes the announcement back before anybody comes back up: while it
// stands, the cluster never speaks the newer version again. Those that come
// back need no preparation, for they wrote only what both versions understand.
func (p planner) takeBack() *Decision {
	if p.s.View.Downgrade == "" {
		return nil
	}
	return do(Step{ID: string(ActionWithdraw), Action: ActionWithdraw, Members: p.voterNames(), Risk: RiskNone, Deadline: stepDeadline,
		Title: "Take the downgrade to " + minor(p.s.View.Downgrade) + " back"})
}

// downgradeStep moves one member down, or up again.
func (p planner) downgradeStep(member string, risk Risk) Step {
	if p.s.cancelling() {
		return p.upgradeStep(member, risk)
	}
	return p.moveStep(ActionDowngrade, member, risk)
}
