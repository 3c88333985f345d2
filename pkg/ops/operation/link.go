package operation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// stoppedToLink examines the volumes of members that were stopped, and names the one that is converted: it holds all
// that the others hold. Of equals it is that of a primary which stopped in order: that of a replica has to be recovered
// first, and has no way back from there on.
func stoppedToLink(p rules.Situation, names []string) (string, *ops.Decision) {
	if p.S.Operation.Spec.FromMembers == 1 && len(names) == 1 {
		return names[0], nil
	}
	all, d := examineStopped(p, names)
	if d != nil {
		return "", d
	}
	best, d := chosenData(p, all)
	if d != nil {
		return "", d
	}
	return best.member, nil
}

// standby starts the pod that converts the data before anybody stops, at the member whose volume that will probably be:
// a pod takes seconds to start, in which nobody could write.
func standby(p rules.Situation) *ops.Decision {
	name := p.E.Source(p.S.View, true)
	if !ops.Links(p.S.Operation) || name == "" || p.S.Fact(v1alpha1.FactConverter) != "" {
		return nil
	}
	return rules.Do(ops.Step{ID: string(ops.ActionStandby) + "/" + name, Action: ops.ActionStandby,
		Members: []string{name}, Risk: ops.RiskNone, Deadline: rules.WaitDeadline,
		Touches: []string{"pod/" + ops.Converter(name)},
		Title:   "Start a pod that waits to convert the data of " + name,
		Reason:  "it takes seconds to start, in which nobody could write once the members stopped"})
}

// dismiss ends the pod that waits to convert data which is not converted any more. With a new incarnation it ends by
// the way back from that.
func dismiss(p rules.Situation) *ops.Decision {
	if incarnationStarted(p) {
		return nil
	}
	for _, m := range p.S.Kube.Members {
		pod := ops.Converter(m.Name)
		if slices.ContainsFunc(p.S.Kube.Helpers, func(h observe.Helper) bool { return h.Name == pod && !h.Terminating }) {
			return rules.Do(ops.Step{ID: string(ops.ActionDismiss) + "/" + m.Name, Action: ops.ActionDismiss,
				Members: []string{m.Name}, Risk: ops.RiskNone, Deadline: rules.StepDeadline, Touches: []string{"pod/" + pod},
				Title:  "Delete the pod that waits to convert the data of " + m.Name,
				Reason: "nothing is converted any more"})
		}
	}
	return nil
}

// linkedStays refuses to go back once the new version serves on the volume of a former member: what clients wrote since
// is there alone.
func linkedStays(p rules.Situation) *ops.Decision {
	f := p.S.Bootstrap()
	if f.InPlace == "" || !p.Began(ops.ActionStart) {
		return nil
	}
	from := p.S.Operation.Spec
	return rules.Block(&ops.Error{Kind: ops.Refused, Check: ops.WaiverWayBack,
		Message: fmt.Sprintf("%s was started with version %s on its former volume, so there is no way back to %s",
			f.Members[0], from.Version, from.FromVersion),
		Hint: "finish it: kubectl dbop resume " + p.S.Cluster.Name + "; the data of before makes another cluster: " +
			restoreBefore(from)})
}

// restoreBefore is the command that makes a cluster of the data of before an upgrade that converts it.
func restoreBefore(of v1alpha1.OperationSpec) string {
	return fmt.Sprintf("kubectl dbop restore NEW-NAME --from %s --repository %s --version %s", of.Source.Backup,
		of.Repository, of.FromVersion)
}

// linkedFinal reports whether the volume of a former member holds data that the former version can't use any more.
func linkedFinal(f v1alpha1.Bootstrap) bool {
	return f.InPlace == v1alpha1.InPlaceFinal || f.InPlace != "" && f.Loaded
}

// revertLinked takes back what was converted on the volume of a former member, or finds that this is too late.
func revertLinked(p rules.Situation) *ops.Decision {
	f := p.S.Bootstrap()
	if f.InPlace != v1alpha1.InPlaceAsked || f.Loaded {
		return nil
	}
	name := f.Members[0]
	return rules.Do(ops.Step{ID: string(ops.ActionRevert) + "/" + name, Action: ops.ActionRevert, Members: f.Members[:1],
		Risk: ops.RiskIrreversible, Deadline: rules.StreamDeadline, Touches: rules.Claims(f.Members[:1]),
		Title:  "Take back what was converted on the volume of " + name,
		Reason: "as long as the new version was not started on it, it becomes what it was"})
}

// linkedFormed reports whether the new incarnation of an upgrade that links was recorded as formed: it can only be
// finished.
func linkedFormed(op *v1alpha1.Operation) bool {
	return ops.Links(op) && slices.ContainsFunc(op.Status.Journal, func(e v1alpha1.JournalEntry) bool {
		return strings.HasPrefix(e.Step, string(ops.ActionRecordFormed))
	})
}
