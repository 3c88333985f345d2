package operation

import (
	"fmt"
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/backups"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/operation/users"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// Upgrade moves the members to a newer version.
type Upgrade struct{ Versioned }

// Traits implements rules.Operation.
func (Upgrade) Traits() rules.Traits {
	return rules.Traits{Restarts: true, NeedsSpace: true, Outdated: rules.Situation.Outdated, StaysOpen: staysBelow}
}

// Manners implements rules.Operation. What was converted on the volume of a former member has no way back once it
// serves.
func (v Upgrade) Manners() ops.Manners {
	m := v.Versioned.Manners()
	m.StepsBack = func(op *v1alpha1.Operation) bool { return !linkedFormed(op) }
	m.Same = func(have, asked v1alpha1.OperationSpec) bool {
		return have.Version == asked.Version && (!have.InPlace ||
			slices.Contains(have.Waive, ops.WaiverWayBack) == slices.Contains(asked.Waive, ops.WaiverWayBack))
	}
	return m
}

// Resolve implements rules.Operation.
func (Upgrade) Resolve(e engine.Engine, o *v1alpha1.OperationSpec, s ops.State) error {
	return converting(e, o, s.Cluster)
}

// Steps implements rules.Operation.
func (Upgrade) Steps() rules.Steps {
	return rules.Steps{First: convertInPlace, Running: func(p rules.Situation) *ops.Decision {
		if ops.Converts(p.S.Operation) && incarnationStarted(p) && p.S.Cluster.Spec.Auth.Enabled {
			return users.Authenticate(p)
		}
		if p.S.View.Quorum || !rolling(p) {
			return nil
		}
		return p.MendVersion(p.UpgradeStep)
	}, Joined: upgrade}
}

// Undo implements rules.Operation. Converted data is not converted back.
func (v Upgrade) Undo(u *rules.Undoing) error {
	of := u.Of.Spec
	if !ops.Converts(u.Of) {
		return v.Versioned.Undo(u)
	}
	hint := "the data of before makes another cluster: " + restoreBefore(of)
	if kept := u.Of.Status.Facts[v1alpha1.FactKept]; kept != "" {
		hint += "; it is also in the former volumes: kubectl get pvc " + kept
	}
	return rules.NoUndo(of.Cluster, fmt.Sprintf("the data of %s was converted from %s to %s, and there is no way back",
		of.Cluster, of.FromVersion, of.Version), hint)
}

// staysBelow reports whether one of the former version may join an upgraded
// cluster still once a member has left: as soon as everybody else runs the
// newer series, the database may take the last step.
func staysBelow(p rules.Situation, left string, outdated []string) bool {
	target := p.S.Cluster.Spec.Version
	if p.E.CheckRollback(p.S.View, target) != nil {
		return false
	}
	return engine.SameSeries(p.E, p.S.Operation.Spec.Version, target) ||
		slices.ContainsFunc(p.Except(outdated), func(name string) bool { return name != left && !p.Gone(name) })
}

// upgrade moves members to the wanted version one by one: those that don't
// take part first, then followers, the leader last after it handed over to a
// member that is upgraded already. Between two of them every member must be
// healthy. It goes back the same way while the engine still allows it. No
// other verb restarts members for their version: the person who asked for it gave up,
// and the checks and the backup of an upgrade belong to it.
func upgrade(p rules.Situation) *ops.Decision {
	if ops.Converts(p.S.Operation) && !incarnationStarted(p) {
		return stopToConvert(p)
	}
	outdated := p.Outdated()
	if len(outdated) == 0 {
		if d := p.SettledAt(p.VoterNames()); d != nil {
			return d
		}
		if err := p.E.CheckUpgraded(p.S.View, p.S.Cluster.Spec.Version); err != nil && !p.S.Cancelling() {
			return p.Await("upgraded", err.Error(), p.VoterNames()...)
		}
		return nil
	}
	if d := mayUpgrade(p); d != nil {
		return d
	}
	if d := p.SettledAt(p.Except(outdated)); d != nil {
		return d
	}
	return p.InTurn(outdated, "the leader restarts last, after it handed over to an upgraded member", p.UpgradeStep)
}

// mayUpgrade asks everything that must hold before, and again during, the roll.
func mayUpgrade(p rules.Situation) *ops.Decision {
	target := p.S.Cluster.Spec.Version
	if p.S.Cancelling() {
		return mayRollBack(p, target)
	}
	if p.Began(ops.ActionUpgrade) {
		return nil
	}
	if err := p.E.CheckUpgrade(p.S.View, p.S.Cluster.Spec, target); err != nil {
		return p.Gate("may-upgrade", err, p.VoterNames()...)
	}
	if d := p.MayStop(); d != nil {
		return d
	}
	if !p.S.Waives("backup") {
		if d := backups.First(p, true, true); d != nil {
			return d
		}
	}
	return p.Prepare(target)
}

// mayRollBack asks whether the way back is open still. Once every member runs
// the newer series, the database may take the last step at any moment, between
// this observation and the next write too, and an older member would never start again.
func mayRollBack(p rules.Situation, target string) *ops.Decision {
	if err := p.E.CheckRollback(p.S.View, target); err != nil {
		return rules.Block(ops.Refusal(err))
	}
	newer := p.S.Operation.Spec.Version
	if engine.SameSeries(p.E, newer, target) {
		return nil
	}
	for _, name := range p.VoterNames() {
		if pod := p.S.Kube.Member(name).Pod; !pod.Running || pod.Version != newer {
			return nil
		}
	}
	return rules.Block(&ops.Error{Kind: ops.Refused, Check: "rollback",
		Message: fmt.Sprintf("every member runs %s already, so the data may change its format at any moment", newer),
		Hint:    "finish it: kubectl dbop resume " + p.S.Cluster.Name + "; the way back is a restore"})
}

// rolling reports whether restarts have started, and, on the way back, whether a
// member is left that was never moved: without one the data may have changed
// its format, and putting more members back would only lose more of them.
func rolling(p rules.Situation) bool {
	if p.S.Cancelling() {
		return p.SomeAsWanted()
	}
	return p.Began(ops.ActionUpgrade)
}
