package ops

import (
	"fmt"
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// restart renews every pod that the record names, one by one, the leader last
// after it handed over to a renewed member: those that ran when a restart was
// asked for, or that a repair found wrong. So a repeat never renews one twice.
func (p planner) restart() *Decision {
	if verb := p.s.verb(); verb != v1alpha1.VerbRestart && verb != v1alpha1.VerbRepair || p.s.cancelling() {
		return nil
	}
	old := p.oldPods()
	if len(old) == 0 {
		return nil
	}
	if d := p.mayRestart(); d != nil {
		return d
	}
	drifted, tampered := p.s.Drifted(), p.s.tampered()
	if d := p.mayRender(drifted); d != nil {
		return d
	}
	return p.inTurn(old, "the leader restarts last", func(next string, risk Risk) Step {
		step := Step{ID: "restart-member/" + next, Action: ActionRestart, Members: []string{next}, Risk: risk, Deadline: waitDeadline,
			Title: "Restart " + next, Touches: []string{"pod/" + v1alpha1.PodName(next)}}
		switch {
		case p.s.verb() == v1alpha1.VerbRepair:
			step.Reason = "its pod was made from a template that somebody changed, or was changed itself"
		case slices.Contains(tampered, next):
			step.Reason = "its template is put back: somebody changed it"
			step.Touches = append(statefulSets([]string{next}), step.Touches...)
		case slices.Contains(drifted, next):
			step.Reason = "its template is renewed: this version renders it differently"
			step.Touches = append(statefulSets([]string{next}), step.Touches...)
		}
		return step
	})
}

// mayRestart asks for quorum, and for consent where a restart means downtime.
func (p planner) mayRestart() *Decision {
	if d := p.quorumFirst(); d != nil {
		return d
	}
	for _, name := range p.voterNames() {
		if p.s.bereft(p.s.Kube.Member(name)) {
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
func (p planner) mayStop() *Decision {
	if p.restartStops() && !p.s.waives("downtime") {
		return block(&Error{Kind: Refused, Check: "downtime",
			Message: fmt.Sprintf("a cluster of %d is down while a member restarts", len(p.voterNames())),
			Hint:    "add members first, or accept it: --allow-downtime"})
	}
	return nil
}

// oldPods are the voters whose pod is still the one from before.
func (p planner) oldPods() []string {
	var out []string
	for _, name := range p.voterNames() {
		if pod := p.s.Kube.Member(name).Pod; pod.Exists && pod.UID != "" && pod.UID == p.s.Operation.Spec.Pods[name] {
			out = append(out, name)
		}
	}
	return out
}
