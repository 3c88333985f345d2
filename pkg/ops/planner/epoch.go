package planner

import (
	"fmt"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// returnToEpoch goes back from an in-place restore: the members of the new
// epoch stop, the former founding is in force again, and the former members
// start on their volumes, which nobody touched meanwhile. Wherever it is
// interrupted, the founding in force says what is left to do.
func (p Planner) returnToEpoch() *ops.Decision {
	if p.epochBegun() {
		if d := p.volumesLeft(); d != nil {
			return d
		}
		if names := p.running(); len(names) > 0 {
			if d := p.lingering(names); d != nil {
				return d
			}
			return do(ops.Step{ID: "stop-members", Action: ops.ActionStop, Members: names, Risk: ops.RiskDowntime, Deadline: WaitDeadline, Touches: ops.StatefulSets(names),
				Title: "Stop " + strings.Join(names, ", "), Reason: "the former members must not run next to them"})
		}
		return do(ops.Step{ID: string(ops.ActionOldEpoch), Action: ops.ActionOldEpoch, Risk: ops.RiskIrreversible, Deadline: StepDeadline,
			Title: "Go back to the former volumes", Reason: "they are as they were before the restore"})
	}
	if names := p.neverServed(); len(names) > 0 {
		return do(ops.Step{ID: "delete-volumes/" + strings.Join(names, ","), Action: ops.ActionDeleteVolume, Members: names, Risk: ops.RiskIrreversible, Deadline: WaitDeadline,
			Title: "Drop the volume of " + strings.Join(names, ", "), Reason: "the backup was loaded into it, and no member ran on it", Touches: claims(names)})
	}
	if p.S.Cluster.Spec.Stopped {
		return &ops.Decision{Done: true}
	}
	if d := p.starting(); d != nil {
		return d
	}
	if !p.S.View.Quorum {
		return p.await("quorum", "the former members come up and look for each other", p.running()...)
	}
	for _, name := range p.voterNames() {
		if err := p.E.Health(p.S.View, name); err != nil && !p.lost(name) {
			return p.await("healthy", err.Error(), name)
		}
	}
	return &ops.Decision{Done: true}
}

// volumesLeft refuses to stop anything for volumes that are not there any more.
func (p Planner) volumesLeft() *ops.Decision {
	left, from := 0, p.S.Operation.Spec
	for _, m := range p.S.Kube.Members {
		if m.Volume.Exists && !m.Volume.Terminating && m.Volume.Token == from.FromEpoch.Formation.Token {
			left++
		}
	}
	if left >= ops.Majority(int(from.FromMembers)) {
		return nil
	}
	return block(&ops.Error{Kind: ops.Refused, Check: "volumes", Message: fmt.Sprintf("only %d of the %d former volumes of %s are left, which is no majority", left, from.FromMembers, p.S.Cluster.Name),
		Hint: "finish the restore: kubectl dbop resume " + p.S.Cluster.Name})
}

// neverServed lists the members of the new epoch of which nothing but a volume
// exists, if none was ever started: from then on clients may have written.
func (p Planner) neverServed() []string {
	var out []string
	for _, m := range p.S.Kube.Members {
		if m.Volume.Exists && m.Volume.Token == ops.EpochToken(p.S.Operation) && !m.Workload.Exists && !m.Pod.Exists && !p.Began(ops.ActionStart) {
			out = append(out, m.Name)
		}
	}
	return out
}

// KeptVolumes is the fact that names the volumes of before the epoch that the
// operation in flight begins.
func KeptVolumes(s ops.State) map[string]string {
	var names []string
	for _, m := range s.Kube.Members {
		if m.Volume.Exists && m.Volume.Token != ops.EpochToken(s.Operation) {
			names = append(names, v1alpha1.VolumeName(m.Name))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return map[string]string{v1alpha1.FactKept: strings.Join(names, " ")}
}
