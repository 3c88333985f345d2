package etcd

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/backups"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/operation"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// Downgrade moves the members to an older version, which is announced first.
type Downgrade struct{ operation.Versioned }

// Traits implements rules.Operation.
func (Downgrade) Traits() rules.Traits {
	return rules.Traits{Restarts: true, NeedsSpace: true, Outdated: rules.Situation.Outdated}
}

// Steps implements rules.Operation.
func (Downgrade) Steps() rules.Steps {
	return rules.Steps{Running: func(p rules.Situation) *ops.Decision {
		if p.S.View.Quorum || !p.S.Cancelling() && !p.SomeAsWanted() {
			return nil
		}
		return p.MendVersion(downgradeStep(p))
	}, Joined: downgrade}
}

// downgrade takes the whole cluster to an older version. It is announced
// first: the cluster goes on with what the older version speaks and reads.
// Once every member says so they move one by one as in an upgrade. Cancelled,
// the announcement is taken back, and a member that has moved comes back up.
func downgrade(p rules.Situation) *ops.Decision {
	outdated := p.Outdated()
	if p.S.Cancelling() {
		if d := takeBack(p); d != nil {
			return d
		}
	} else if len(outdated) > 0 {
		if d := mayDescend(p); d != nil {
			return d
		}
	}
	if d := p.SettledAt(p.Except(outdated)); d != nil {
		return d
	}
	if len(outdated) > 0 {
		if d := lowered(p); d != nil {
			return d
		}
		if d := fenceData(p); d != nil {
			return d
		}
		return p.InTurn(outdated, "the leader restarts last, after it handed over to a member that has moved",
			downgradeStep(p))
	}
	if err := p.E.CheckUpgraded(p.S.View, p.S.Cluster.Spec.Version); err != nil {
		return p.Await("versions-agree", err.Error(), p.VoterNames()...)
	}
	if to := p.S.View.Downgrade; to != "" {
		return p.Await("versions-agree", fmt.Sprintf("the downgrade to %s is not called off yet", to), p.VoterNames()...)
	}
	return nil
}

// mayDescend asks everything that must hold before the first member moves.
// What counts is whether one runs the older version, not what the journal or
// its template says: cancelled and resumed, the cluster may be on top again,
// or on the way there.
func mayDescend(p rules.Situation) *ops.Decision {
	target, moved := p.S.Cluster.Spec.Version, p.SomeAsWanted() || someRun(p, p.S.Cluster.Spec.Version)
	if err := p.E.CheckDowngrade(p.S.View, p.S.Cluster.Spec, target); err != nil && !moved {
		return p.Gate("may-downgrade", err, p.VoterNames()...)
	}
	if d := p.MayStop(); d != nil {
		return d
	}
	if !p.S.Waives("backup") {
		if d := backups.First(p, true, true); d != nil {
			return d
		}
	}
	if moved || p.S.View.Downgrade != "" || !p.E.Capabilities().Announce {
		return nil
	}
	return rules.Do(ops.Step{ID: string(ops.ActionAnnounce), Action: ops.ActionAnnounce, Members: p.VoterNames(),
		Risk: ops.RiskNone, Deadline: rules.StepDeadline,
		Title: "Announce the downgrade to " + target, Reason: "from then on the cluster speaks and writes only what " +
			p.E.Series(target) + " understands"})
}

// someRun reports whether the pod of a member is of that version.
func someRun(p rules.Situation, version string) bool {
	for _, name := range p.VoterNames() {
		if pod := p.S.Kube.Member(name).Pod; pod.Exists && pod.Version == version {
			return true
		}
	}
	return false
}

// lowered waits until members may run the older version, and asks again before
// each of them. Whether the downgrade is still announced does not matter any
// more then: what was lowered stays so while one member runs the older version.
func lowered(p rules.Situation) *ops.Decision {
	if p.S.Cancelling() {
		return nil
	}
	if err := p.E.CheckLowered(p.S.View, p.S.Cluster.Spec.Version); err != nil {
		return p.Await("lowered", err.Error(), p.VoterNames()...)
	}
	return nil
}

// fenceData lets the engine make sure, before the first member moves, that none
// starts from something that only the newer version reads.
func fenceData(p rules.Situation) *ops.Decision {
	if p.S.Cancelling() || p.SomeAsWanted() {
		return nil
	}
	return p.Prepare(p.S.Cluster.Spec.Version)
}

// takeBack takes the announcement back before anybody comes back up: while it
// is, the cluster never speaks the newer version again. Those that come
// back need no preparation, for they wrote only what both versions understand.
func takeBack(p rules.Situation) *ops.Decision {
	if p.S.View.Downgrade == "" {
		return nil
	}
	return rules.Do(ops.Step{ID: string(ops.ActionWithdraw), Action: ops.ActionWithdraw, Members: p.VoterNames(),
		Risk: ops.RiskNone, Deadline: rules.StepDeadline,
		Title: "Take the downgrade to " + p.E.Series(p.S.View.Downgrade) + " back"})
}

// downgradeStep moves one member down, or up again.
func downgradeStep(p rules.Situation) func(member string, risk ops.Risk) ops.Step {
	if p.S.Cancelling() {
		return p.UpgradeStep
	}
	return func(member string, risk ops.Risk) ops.Step { return p.MoveStep(ops.ActionDowngrade, member, risk) }
}
