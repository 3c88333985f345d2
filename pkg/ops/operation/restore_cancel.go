package operation

import (
	"fmt"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// returnToIncarnation goes back from an in-place restore: the members of the new
// incarnation stop, the former founding is in force again, and the former members
// start on their volumes, which nobody touched meanwhile. Wherever it is
// interrupted, the founding in force says what is left to do.
func returnToIncarnation(p rules.Situation) *ops.Decision {
	if d := leaveIncarnation(p); d != nil {
		return d
	}
	if names := neverServed(p); len(names) > 0 {
		return rules.Do(ops.Step{ID: "delete-volumes/" + strings.Join(names, ","), Action: ops.ActionDeleteVolume,
			Members: names, Risk: ops.RiskIrreversible, Deadline: rules.WaitDeadline,
			Title:  "Drop the volume of " + strings.Join(names, ", "),
			Reason: dropReason(p), Touches: rules.Claims(names)})
	}
	if p.S.Cluster.Spec.Stopped {
		return &ops.Decision{Done: true}
	}
	if d := p.Starting(); d != nil {
		return d
	}
	if !p.S.View.Quorum {
		return p.Await("quorum", "the former members come up and find each other", p.Running()...)
	}
	for _, name := range p.VoterNames() {
		if err := p.E.Health(p.S.View, name); err != nil && !p.Lost(name) {
			return p.Await("healthy", err.Error(), name)
		}
	}
	return &ops.Decision{Done: true}
}

// leaveIncarnation stops what runs, and goes back to another incarnation, see ops.ReturnsTo; nil once the founding of
// that one is in force.
func leaveIncarnation(p rules.Situation) *ops.Decision {
	if to := ops.ReturnsTo(p.S.Operation); to == nil || p.S.Bootstrap().Token == to.Bootstrap.Token {
		return nil
	}
	if d := linkedStays(p); d != nil {
		return d
	}
	if d := volumesLeft(p); d != nil {
		return d
	}
	if names := p.Running(); len(names) > 0 {
		if d := p.Lingering(names); d != nil {
			return d
		}
		step := ops.Step{ID: "stop-members", Action: ops.ActionStop, Members: names, Risk: ops.RiskDowntime,
			Deadline: rules.WaitDeadline, Touches: ops.StatefulSets(names),
			Title: "Stop " + strings.Join(names, ", "), Reason: "the former members must not run next to them"}
		if ops.TakesRestoreBack(p.S.Operation) {
			step.Title += " and keep their volumes"
		}
		return rules.Do(step)
	}
	if d := revertLinked(p); d != nil {
		return d
	}
	title, reason := returning(p.S.Operation)
	return rules.Do(ops.Step{ID: string(ops.ActionOldIncarnation), Action: ops.ActionOldIncarnation,
		Risk: ops.RiskIrreversible, Deadline: rules.StepDeadline, Title: title, Reason: reason})
}

// dropReason says why nobody needs a volume of the new incarnation.
func dropReason(p rules.Situation) string {
	if ops.Links(p.S.Operation) {
		return "its data was converted, so the former version can't use it any more, and no client wrote to it"
	}
	return "the backup was loaded into it, and no member ran on it"
}

// volumesLeft refuses to stop anything for volumes that are not there any more.
func volumesLeft(p rules.Situation) *ops.Decision {
	left, from, f, to := 0, p.S.Operation.Spec, p.S.Bootstrap(), ops.ReturnsTo(p.S.Operation)
	for _, m := range p.S.Kube.Members {
		former := m.Volume.Token == to.Bootstrap.Token ||
			f.InPlace != "" && m.Name == f.Members[0] && !linkedFinal(f)
		if m.Volume.Exists && !m.Volume.Terminating && former {
			left++
		}
	}
	if left >= ops.Majority(int(from.FromMembers)) {
		return nil
	}
	if linkedFinal(f) {
		return rules.Block(&ops.Error{Kind: ops.Refused, Check: "volumes",
			Message: fmt.Sprintf("the data on the volume of %s was converted, and only %d of the %d former volumes of %s are "+
				"left besides, which is no majority", f.Members[0], left, from.FromMembers, p.S.Cluster.Name),
			Hint: "finish the upgrade: kubectl dbop resume " + p.S.Cluster.Name +
				"; the data of before makes another cluster: " + restoreBefore(from)})
	}
	return rules.Block(&ops.Error{Kind: ops.Refused, Check: "volumes",
		Message: fmt.Sprintf("only %d of the %d former volumes of %s are left, which is no majority", left,
			from.FromMembers, p.S.Cluster.Name), Hint: formerVolumes(p)})
}

// neverServed lists the members of the new incarnation of which nothing but a volume
// exists, if none was ever started: from then on clients may have written.
func neverServed(p rules.Situation) []string {
	var out []string
	for _, m := range p.S.Kube.Members {
		if m.Volume.Exists && ops.IncarnationStartedBy(p.S.Operation, m.Volume.Token) && !m.Workload.Exists &&
			!m.Pod.Exists && !p.Began(ops.ActionStart) {
			out = append(out, m.Name)
		}
	}
	return out
}
