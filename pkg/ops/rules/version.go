package rules

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// UpgradeStep moves one member up, or back to where it was.
func (p Situation) UpgradeStep(member string, risk ops.Risk) ops.Step {
	return p.MoveStep(ops.ActionUpgrade, member, risk)
}

// MoveStep restarts one member on the wanted version.
func (p Situation) MoveStep(action ops.Action, member string, risk ops.Risk) ops.Step {
	return ops.Step{ID: string(action) + "/" + member, Action: action, Members: []string{member}, Risk: risk,
		Deadline: WaitDeadline,
		Title:    fmt.Sprintf("Restart %s on %s", member, p.S.Cluster.Spec.Version),
		Touches:  []string{"statefulset/" + member, "pod/" + v1alpha1.PodName(member)}}
}

// Prepare does to the running members what the engine needs before the first restart.
func (p Situation) Prepare(target string) *ops.Decision {
	why := p.E.Preparation(p.S.View, target)
	if why == "" || p.S.Fact(v1alpha1.FactPrepared) != "" {
		return nil
	}
	return Do(ops.Step{ID: "prepare-upgrade", Action: ops.ActionPrepare, Members: p.VoterNames(), Risk: ops.RiskNone,
		Deadline: WaitDeadline,
		Title:    "Prepare the members for " + target, Reason: why})
}

// Outdated lists voters whose workload or pod is not of the wanted version.
func (p Situation) Outdated() []string {
	var out []string
	for _, name := range p.VoterNames() {
		m := p.S.Kube.Member(name)
		if m.Workload.Exists && (m.Workload.Version != p.S.Cluster.Spec.Version ||
			(m.Pod.Exists && m.Pod.Version != p.S.Cluster.Spec.Version)) {
			out = append(out, name)
		}
	}
	return out
}

// SettledAt waits until those members run the wanted version and are healthy: the pause on red.
func (p Situation) SettledAt(names []string) *ops.Decision {
	for _, name := range names {
		m := p.S.View.Member(name)
		if p.S.Cancelling() && p.Gone(name) {
			continue // it is replaced afterwards, and what it has by then does not matter
		}
		if err := p.E.Health(p.S.View, name); err != nil {
			return p.Await("healthy", err.Error(), name)
		}
		if r, _ := p.S.View.Registered(name); m.Version != p.S.Cluster.Spec.Version && !r.Witness {
			return p.Await("healthy", fmt.Sprintf("%s still runs %s", name, m.Version), name)
		}
	}
	return nil
}
