package planner

import (
	"fmt"
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
)

// restart renews every pod that the record names, one by one, the leader last
// after it handed over to a renewed member: those that ran when a restart was
// asked for, or that a repair found wrong. So a repeat never renews one twice.
func (p Planner) restart() *ops.Decision {
	if verb := p.S.Verb(); verb != v1alpha1.VerbRestart && verb != v1alpha1.VerbRepair || p.S.Cancelling() {
		return nil
	}
	old := p.oldPods()
	if len(old) == 0 {
		return nil
	}
	if d := p.mayRestart(); d != nil {
		return d
	}
	drifted, tampered := Drifted(p.S), health.Tampered(p.S)
	if d := p.mayRender(drifted); d != nil {
		return d
	}
	return p.inTurn(old, "the leader restarts last", func(next string, risk ops.Risk) ops.Step {
		step := ops.Step{ID: "restart-member/" + next, Action: ops.ActionRestart, Members: []string{next}, Risk: risk, Deadline: WaitDeadline,
			Title: "Restart " + next, Touches: []string{"pod/" + v1alpha1.PodName(next)}}
		switch {
		case p.S.Verb() == v1alpha1.VerbRepair:
			step.Reason = "its pod was made from a template that somebody changed, or was changed itself"
		case slices.Contains(tampered, next):
			step.Reason = "its template is put back: somebody changed it"
			step.Touches = append(ops.StatefulSets([]string{next}), step.Touches...)
		case slices.Contains(drifted, next):
			step.Reason = "its template is renewed: this version renders it differently"
			step.Touches = append(ops.StatefulSets([]string{next}), step.Touches...)
		}
		return step
	})
}

// mayRestart asks for quorum, and for consent where a restart means downtime.
func (p Planner) mayRestart() *ops.Decision {
	if d := p.quorumFirst(); d != nil {
		return d
	}
	for _, name := range p.voterNames() {
		if p.S.VolumeMissing(p.S.Kube.Member(name)) {
			return p.gate("healthy", &engine.Refusal{Check: "lost", Reason: "the volume of " + name + " is gone, and no restart brings it back",
				Hint: p.replaceFirst(name).Hint}, name)
		}
	}
	if d := p.undamaged(); d != nil {
		return d
	}
	return p.mayStop()
}

// mayStop asks for consent where a restart stops the cluster.
func (p Planner) mayStop() *ops.Decision {
	if p.restartStops() && !p.S.Waives("downtime") {
		return block(&ops.Error{Kind: ops.Refused, Check: "downtime",
			Message: fmt.Sprintf("a cluster of %d is down while a member restarts", len(p.voterNames())),
			Hint:    "add members first, or accept it: --allow-downtime"})
	}
	return nil
}

// oldPods are the voters whose pod is still the one from before.
func (p Planner) oldPods() []string {
	var out []string
	for _, name := range p.voterNames() {
		if pod := p.S.Kube.Member(name).Pod; pod.Exists && pod.UID != "" && pod.UID == p.S.Operation.Spec.Pods[name] {
			out = append(out, name)
		}
	}
	return out
}
