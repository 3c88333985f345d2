package etcd

import (
	"fmt"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// ClearAlarms removes the cause of every alarm, and takes the alarms back.
type ClearAlarms struct{ rules.Plain }

// Traits implements rules.Operation.
func (ClearAlarms) Traits() rules.Traits {
	return rules.Traits{SparesMembers: true, DespiteDamage: true}
}

// Manners implements rules.Operation.
func (ClearAlarms) Manners() ops.Manners {
	return ops.Manners{StepsBack: ops.Anytime, Yields: ops.Anytime, Same: sameCompaction}
}

// Check implements rules.Operation.
func (ClearAlarms) Check(e engine.Engine, _ v1alpha1.OperationSpec, _, _ *v1alpha1.DatabaseCluster) error {
	return health.CheckAlarms(e)
}

// Resolve implements rules.Operation.
func (ClearAlarms) Resolve(e engine.Engine, o *v1alpha1.OperationSpec, s ops.State) error {
	return pinCompactRevision(e, o, s.View)
}

// Steps implements rules.Operation.
func (ClearAlarms) Steps() rules.Steps { return rules.Steps{Sized: clearAlarms} }

// clearAlarms removes the cause of every alarm, then takes the alarm back, and
// at last has every member take a write. Damage comes before space: nothing
// can be dropped while it is.
func clearAlarms(p rules.Situation) *ops.Decision {
	if p.S.Cancelling() {
		return nil
	}
	if d := p.QuorumFirst(); d != nil {
		return d
	}
	if len(p.S.View.Alarms) == 0 {
		return proof(p)
	}
	for _, a := range p.S.View.Raised(engine.CauseUnknown) {
		return rules.Block(&ops.Error{Kind: ops.NeedsHuman, Check: "alarm",
			Message: fmt.Sprintf("what %s, which is raised for %s, means is not known to this tool", a.Name, health.Whose(a)),
			Hint:    "a newer version of this tool may know it"})
	}
	for _, name := range p.VoterNames() {
		if err := p.E.Health(p.S.View, name); err != nil {
			return p.Gate("healthy", err, name)
		}
	}
	if damage := p.S.View.Raised(engine.CauseDamage); len(damage) > 0 {
		if p.S.Fact(v1alpha1.FactCompared) != "" {
			return disarm(damage, "all members have the same data")
		}
		return rules.Do(ops.Step{ID: string(ops.ActionCompare), Action: ops.ActionCompare, Members: p.VoterNames(),
			Risk: ops.RiskNone, Deadline: rules.WaitDeadline,
			Title:  "Compare the data of all members",
			Reason: "a damaged one is to be replaced before the alarm is taken back"})
	}
	if d := makeRoom(p); d != nil {
		return d
	}
	return disarm(p.S.View.Raised(engine.CauseSpace), "there is space again")
}

// disarm takes alarms of one name back.
func disarm(alarms []engine.Alarm, why string) *ops.Decision {
	name := alarms[0].Name
	var members []string
	for _, a := range alarms {
		if a.Name == name {
			members = append(members, health.Whose(a))
		}
	}
	return rules.Do(ops.Step{ID: string(ops.ActionClearAlarms) + "/" + name, Action: ops.ActionClearAlarms, Alarm: name,
		Members: members, Risk: ops.RiskNone, Deadline: rules.WaitDeadline,
		Title: fmt.Sprintf("Take %s of %s back", name, strings.Join(members, ", ")), Reason: why})
}

// proof has every member take a write after an alarm was taken back.
func proof(p rules.Situation) *ops.Decision {
	if !p.Began(ops.ActionClearAlarms) || p.S.Fact(v1alpha1.FactWritten) != "" {
		return nil
	}
	return rules.Do(ops.Step{ID: string(ops.ActionProveWrite), Action: ops.ActionProveWrite, Members: p.VoterNames(),
		Risk: ops.RiskNone, Deadline: rules.WaitDeadline,
		Title: "Have every member take a write", Reason: "one that changes nothing for clients"})
}
