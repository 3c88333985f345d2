package operation

import (
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// Restart makes the pods of all members again.
type Restart struct{ rules.Plain }

// Traits implements rules.Operation.
func (Restart) Traits() rules.Traits { return rules.Traits{Restarts: true} }

// Manners implements rules.Operation.
func (Restart) Manners() ops.Manners { return ops.Manners{StepsBack: ops.Anytime} }

// Resolve implements rules.Operation.
func (Restart) Resolve(_ engine.Engine, o *v1alpha1.OperationSpec, s ops.State) error {
	o.Pods = rules.PodsOf(s)
	return nil
}

// Steps implements rules.Operation.
func (Restart) Steps() rules.Steps {
	return rules.Steps{Sized: func(p rules.Situation) *ops.Decision { return restart(p, "") }}
}

// Undo implements rules.Operation.
func (Restart) Undo(u *rules.Undoing) error { return u.Unchanged() }

// restart renews every pod that the record names, one by one, the leader last
// after it handed over to a renewed member: those that ran when a restart was
// asked for, or that a repair found wrong. So a repeat never renews one twice.
func restart(p rules.Situation, reason string) *ops.Decision {
	if p.S.Cancelling() {
		return nil
	}
	old := oldPods(p)
	if len(old) == 0 {
		return nil
	}
	if d := p.MayRestart(); d != nil {
		return d
	}
	drifted, tampered := rules.Drifted(p.S), health.Tampered(p.S)
	if d := p.MayRender(drifted); d != nil {
		return d
	}
	return p.InTurn(old, "the leader restarts last", func(next string, risk ops.Risk) ops.Step {
		step := ops.Step{ID: "restart-member/" + next, Action: ops.ActionRestart, Members: []string{next}, Risk: risk,
			Deadline: rules.WaitDeadline,
			Title:    "Restart " + next, Touches: []string{"pod/" + v1alpha1.PodName(next)}}
		switch {
		case reason != "":
			step.Reason = reason
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

// oldPods are the voters whose pod is still the one from before.
func oldPods(p rules.Situation) []string {
	var out []string
	for _, name := range p.VoterNames() {
		if pod := p.S.Kube.Member(name).Pod; pod.Exists && pod.UID != "" && pod.UID == p.S.Operation.Spec.Pods[name] {
			out = append(out, name)
		}
	}
	return out
}
