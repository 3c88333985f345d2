package operation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// Recover leads a cluster out of a lost quorum.
type Recover struct{ rules.Plain }

// Traits implements rules.Operation.
func (Recover) Traits() rules.Traits {
	return rules.Traits{Starts: true, Restarts: true, NoWayBack: true, Schedule: rules.ScheduleSuspended}
}

// Manners implements rules.Operation.
func (Recover) Manners() ops.Manners {
	return ops.Manners{
		Recovers: true, NewData: true,
		StepsBack: func(op *v1alpha1.Operation) bool { return !ops.IncarnationRecorded(op) },
		Same: func(have, asked v1alpha1.OperationSpec) bool {
			return (asked.Method == "" || have.Method == asked.Method) &&
				(asked.Source == nil || have.Source != nil && *have.Source == *asked.Source) &&
				have.Member == asked.Member && slices.Equal(have.Dead, asked.Dead) && slices.Equal(have.Without, asked.Without) &&
				slices.Equal(have.Waive, asked.Waive)
		},
	}
}

// Resolve implements rules.Operation.
func (Recover) Resolve(e engine.Engine, o *v1alpha1.OperationSpec, s ops.State) error {
	return pinRecovery(e, o, s)
}

// Steps implements rules.Operation.
func (Recover) Steps() rules.Steps { return rules.Steps{First: recovery} }

// Undo implements rules.Operation.
func (Recover) Undo(u *rules.Undoing) error { return replacedData(u) }

// recovery leads a cluster out of a lost quorum, by the way that the record
// names. It only ever begins while there is no quorum, and leaves off as soon
// as there is one: the database has the last word. It deletes no volume.
func recovery(p rules.Situation) *ops.Decision {
	if incarnationStarted(p) || p.S.Cluster.Spec.Stopped {
		return nil
	}
	switch {
	case p.S.Cancelling():
		// The way back is to let the old members run again, as many as there are.
		if d := p.Starting(); d != nil {
			return d
		}
		return &ops.Decision{Done: true}
	case p.S.View.Quorum && p.Fresh():
		return &ops.Decision{Done: true}
	case p.S.View.Quorum && p.S.Operation.Spec.Method == v1alpha1.RecoverBringBack:
		if d := p.Healthy(); d != nil {
			return d
		}
		return &ops.Decision{Done: true}
	case p.S.View.Quorum:
		return nil
	}
	if d := health.Blind(p.S); d != nil && p.Fresh() && health.Derivable(p.S, *d) {
		return rules.Block(&ops.Error{Kind: ops.Refused, Check: "login", Message: d.Object +
			": no member could be asked, so nobody knows that one is lost",
			Hint: "kubectl dbop repair " + p.S.Cluster.Name})
	}
	evidence := health.AssessLoss(p.E, p.S, p.S.Operation.Spec.Without...)
	if p.S.Operation.Spec.Method == v1alpha1.RecoverBringBack {
		return bringBack(p, evidence)
	}
	if d := mayComeBack(p, evidence); d != nil {
		return d
	}
	if d := fence(p); d != nil {
		return d
	}
	if p.S.Operation.Spec.Method == v1alpha1.RecoverData {
		if d := recoverData(p, evidence); d != nil {
			return d
		}
	}
	return beginIncarnation(p, "")
}

// bringBack gives every member with a volume a workload that wants a pod, and
// waits for the quorum that they are.
func bringBack(p rules.Situation, evidence health.Evidence) *ops.Decision {
	need := ops.Majority(evidence.Voters)
	if len(evidence.Kept) < need {
		return rules.Block(&ops.Error{Kind: ops.Refused, Check: "bring-back",
			Message: fmt.Sprintf("only %d of %d volumes exist, so pods alone make no majority of %d", len(evidence.Kept),
				evidence.Voters, need),
			Hint: "kubectl dbop recover " + p.S.Cluster.Name + " --method " + string(evidence.Proposed)})
	}
	if d := forgetPods(p); d != nil {
		return d
	}
	var idle []string
	for _, name := range evidence.Kept {
		if w := p.S.Kube.Member(name).Workload; w.Exists && w.Idle && !w.Terminating {
			idle = append(idle, name)
		}
	}
	if len(idle) > 0 {
		return p.Start(idle, "their workloads want no pod")
	}
	if d := p.Starting(); d != nil {
		return d
	}
	var stuck []*ops.Error
	for _, name := range evidence.Kept {
		if d := p.Await("quorum", "", name); d.Blocked != nil {
			stuck = append(stuck, d.Blocked)
		}
	}
	if len(evidence.Kept)-len(stuck) < need {
		first := stuck[0]
		hint := first.Hint + "; if its data can't be read: kubectl dbop recover " + p.S.Cluster.Name + " --method data"
		if len(health.Unreachable(p.S, nil)) > 0 {
			hint = deadHint(p)
		}
		return rules.Block(&ops.Error{Kind: first.Kind, Check: first.Check, Message: first.Message, Hint: hint})
	}
	return p.Await("quorum", "the members come up and find each other")
}

// forgetPods lets workloads of members on dead nodes make new pods elsewhere.
func forgetPods(p rules.Situation) *ops.Decision {
	var names []string
	for _, m := range p.S.Kube.Members {
		if health.OnLostNode(p.S, m) && slices.Contains(p.S.Operation.Spec.Dead, m.Name) {
			names = append(names, m.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return rules.Do(ops.Step{ID: "forget-pods/" + strings.Join(names, ","), Action: ops.ActionForgetPods, Members: names,
		Risk: ops.RiskIrreversible, Deadline: rules.WaitDeadline,
		Title: "Forget the pods of " + strings.Join(names, ", "), Reason: "their node is dead, as a person says"})
}

// mayComeBack refuses to give up members whose return would lose nothing. It
// is asked before the first effect: what speaks against a member, such as its
// crashes, can't be seen any more once it was stopped.
func mayComeBack(p rules.Situation, evidence health.Evidence) *ops.Decision {
	if !p.Fresh() || evidence.Loss != health.LossTransient ||
		len(evidence.Kept)-len(evidence.Doubtful) < ops.Majority(evidence.Voters) || p.S.Waives("transient") {
		return nil
	}
	return rules.Block(&ops.Error{Kind: ops.Refused, Check: "transient", Message: evidence.Verdict,
		Hint: "kubectl dbop recover " + p.S.Cluster.Name + " --method bring-back; insist with --force if they never will"})
}

// fence stops everything of this incarnation. A pod that can't be seen gone may
// still write, and answer clients, next to what is to come.
func fence(p rules.Situation) *ops.Decision {
	if away := health.Unreachable(p.S, p.S.Operation.Spec.Dead); len(away) > 0 {
		kind := ops.NeedsHuman
		if p.Fresh() {
			kind = ops.Refused
		}
		return rules.Block(&ops.Error{Kind: kind, Check: "unreachable",
			Message: fmt.Sprintf("%s may still run: %s", away[0].Name, away[0].Pod.Problem.Message), Hint: deadHint(p)})
	}
	names := p.Running()
	if len(names) == 0 {
		return nil
	}
	return rules.Do(ops.Step{ID: ops.StepFence, Action: ops.ActionFence, Members: names, Risk: ops.RiskDowntime,
		Deadline: rules.WaitDeadline, Touches: ops.StatefulSets(names),
		Title:  "Stop " + strings.Join(names, ", ") + " and keep their volumes",
		Reason: "nothing may write or answer while the data is inspected"})
}

func deadHint(p rules.Situation) string {
	var names []string
	for _, m := range health.Unreachable(p.S, nil) {
		names = append(names, m.Name)
	}
	return fmt.Sprintf("bring the node back; if it is dead for good: kubectl dbop recover %s --dead %s", p.S.Cluster.Name,
		strings.Join(names, ","))
}

// pinRecovery writes down what was found, and by which way it goes.
func pinRecovery(e engine.Engine, o *v1alpha1.OperationSpec, s ops.State) error {
	if !e.Capabilities().Quorum {
		return &engine.Refusal{Check: "quorum", Reason: e.Name() + " needs no quorum, so none can be lost",
			Hint: "kubectl dbop diagnose " + o.Cluster}
	}
	evidence := health.AssessLoss(e, s, o.Without...)
	if evidence.Serves {
		return nil
	}
	if o.Method == "" {
		o.Method = evidence.Proposed
	}
	o.Evidence = append(slices.Clone(evidence.Members), evidence.Verdict)
	_, recoversData := e.(engine.DataRecoverer)
	switch {
	case o.Method == v1alpha1.RecoverBackup && o.Source == nil:
		return &engine.Refusal{Check: "backup", Reason: "there is no verified backup to recover " + o.Cluster + " from",
			Hint: "name one with --from; kubectl dbop backup list " + o.Cluster}
	case o.Method == v1alpha1.RecoverData && !recoversData:
		return &engine.Refusal{Check: "method", Reason: e.Name() + " can't start again from the data of one member",
			Hint: "recover from a backup: --method backup"}
	case o.Method == v1alpha1.RecoverData && o.Member != "" && !slices.Contains(evidence.Kept, o.Member):
		return &engine.Refusal{Check: "member", Reason: "there is no volume of " + o.Member + " to recover " + o.Cluster +
			" from", Hint: "name one of " + strings.Join(evidence.Kept, ", ")}
	case o.Method == v1alpha1.RecoverData && len(evidence.Kept) == 0:
		return &engine.Refusal{Check: "no-data", Reason: "no volume of " + o.Cluster + " is left",
			Hint: "recover from a backup: --method backup"}
	}
	if o.Method != v1alpha1.RecoverBackup {
		o.Source = nil
	}
	return nil
}
