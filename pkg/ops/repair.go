package ops

import (
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// repair puts back what is not as this tool made it. All of its steps but the
// last restart nobody; then the members whose pod was made from a changed
// template restart one by one (family restart).
func (p planner) repair() *Decision {
	if p.s.verb() != v1alpha1.VerbRepair || p.s.cancelling() {
		return nil
	}
	quiet := p.s.Operation.Spec.Quiet
	if d := p.putBack(func(d kube.Difference) bool { return !quiet || undisruptive(d) }); d != nil {
		return d
	}
	if d := p.scheduling(); d != nil {
		return d
	}
	if quiet {
		return &Decision{Done: true}
	}
	if lost := p.s.authorityLost(); lost != nil {
		f := p.s.finding(*lost)
		return block(&Error{Kind: NeedsHuman, Check: "authority", Message: f.Subject + ": " + f.What,
			Hint: "put the secret back from a copy; what it signed stays valid until then"})
	}
	return nil
}

// templates puts templates back where members are started, or where an
// operation is stepped back that restarts them.
func (p planner) templates() *Decision {
	if p.s.Operation == nil || p.s.Cluster.Spec.Stopped || !p.s.formed() {
		return nil
	}
	if _, restarts := startsMembers(p.s.verb()); p.s.verb() != v1alpha1.VerbStart && (!p.s.cancelling() || !restarts) {
		return nil
	}
	return p.putBackTemplates()
}

// putBack puts back the differences that are asked for, the most dangerous
// first: a second pod on one volume, then what members need to start.
func (p planner) putBack(asked func(kube.Difference) bool) *Decision {
	for _, part := range []func(kube.Difference) bool{
		func(d kube.Difference) bool { return d.Is("spec.replicas") },
		func(d kube.Difference) bool { return kindOf(d) == kindSecret },
		func(d kube.Difference) bool { return kindOf(d) == kindService },
		func(kube.Difference) bool { return true },
	} {
		for _, d := range p.s.Kube.Differences {
			if part(d) && asked(d) && p.putsBack(d) {
				return p.putBackObject(d.Object)
			}
		}
	}
	return p.misfits()
}

// putsBack reports whether a step of its own puts a difference back. A missing
// workload is made by the family starting, what a pod has otherwise goes with
// the pod, and a schedule is made again as a whole.
func (p planner) putsBack(d kube.Difference) bool {
	switch {
	case !p.s.derivable(d), kindOf(d) == kindPod && d.Is("spec"), ofSchedule(kindOf(d)):
		return false
	case d.Object == kindSecret+"/"+v1alpha1.CASecret(p.s.Cluster.Name) && d.Kind != kube.DifferenceEdited:
		return false // another authority concerns every member, see rebuilding
	}
	return mendable(d)
}

// putBackObject writes one object as this tool makes it.
func (p planner) putBackObject(object string) *Decision {
	var fields []string
	step := Step{ID: string(ActionRepair) + "/" + object, Action: ActionRepair, Risk: RiskNone, Deadline: waitDeadline, Touches: []string{object}}
	for _, d := range p.s.Kube.Differences {
		if d.Object != object {
			continue
		}
		if d.Kind == kube.DifferenceTerminating {
			return p.await("deleted", object+" is being deleted")
		}
		if d.Member != "" {
			step.Members = []string{d.Member}
		}
		fields = append(fields, change(d))
	}
	step.Title, step.Reason = "Put back "+object, strings.Join(fields, "; ")
	return do(step)
}

// misfits restarts members that can't start and whose pod was made from
// another template than their workload has now: nothing is risked by it.
func (p planner) misfits() *Decision {
	for _, m := range p.s.Kube.Members {
		if !p.cantStart(m) || m.Pod.Revision == m.Workload.Revision || m.Pod.Terminating {
			continue
		}
		return do(Step{ID: string(ActionRevive) + "/" + m.Name, Action: ActionRevive, Members: []string{m.Name}, Risk: RiskRestart, Deadline: stepDeadline,
			Title: "Make the pod of " + m.Name + " again", Reason: "it does not start, and was made from another template than the StatefulSet has now",
			Touches: []string{"pod/" + v1alpha1.PodName(m.Name)}})
	}
	return nil
}

// putBackTemplates puts templates and replicas back for an operation that
// makes members run, or that is stepped back: no member may be left with
// something that nobody asked for.
func (p planner) putBackTemplates() *Decision {
	return p.putBack(func(d kube.Difference) bool {
		return kindOf(d) == kindWorkload && (d.Template() || d.Is("spec.replicas"))
	})
}

// wrongPods are the pods, by member, that run with something else than this
// tool renders: they were made from a changed template, or changed themselves.
func (s State) wrongPods() map[string]string {
	out := map[string]string{}
	for _, d := range s.Kube.Differences {
		m := s.Kube.Member(d.Member)
		made := kindOf(d) == kindWorkload && d.Template() && m.Pod.Revision == m.Workload.Revision
		if m.Pod.Exists && (made || kindOf(d) == kindPod && d.Is("spec")) {
			out[d.Member] = m.Pod.UID
		}
	}
	return out
}

// intact refuses a new operation whose members would not start as things are.
// It is asked before the request is written down.
func (p planner) intact() *Decision {
	if p.s.Operation == nil || !p.fresh() || !p.s.formed() || p.s.Cluster.Spec.Stopped && p.s.verb() != v1alpha1.VerbStart {
		return nil
	}
	starts, restarts := startsMembers(p.s.verb())
	if starts || restarts || p.s.verb() == v1alpha1.VerbRemoveMember {
		if d := p.unknownFirst(); d != nil {
			return d
		}
	}
	for _, d := range p.s.Kube.Differences {
		if p.s.verb() == v1alpha1.VerbRotateCertificates && kindOf(d) == kindSecret && d.Kind == kube.DifferenceUnusable {
			continue // a rotation is what mends it
		}
		if starts && p.s.barsStart(d) || restarts && p.s.barsRestart(d) {
			f := p.s.finding(d)
			return block(&Error{Kind: Refused, Check: "altered", Message: f.Subject + ": " + f.What, Hint: "first: kubectl dbop repair " + p.s.Cluster.Name})
		}
	}
	return nil
}

// startsMembers says whether a verb makes members, and whether it restarts them.
func startsMembers(v v1alpha1.Verb) (starts, restarts bool) {
	switch v {
	case v1alpha1.VerbScale, v1alpha1.VerbAddMember, v1alpha1.VerbReplaceMember, v1alpha1.VerbStart, v1alpha1.VerbRecover, v1alpha1.VerbRotateCertificates, v1alpha1.VerbRestore:
		return true, true
	case v1alpha1.VerbRestart, v1alpha1.VerbUpgrade, v1alpha1.VerbDowngrade, v1alpha1.VerbConfigure, v1alpha1.VerbResize:
		return false, true
	}
	return false, false
}

// barsStart reports whether no new member can start with that difference.
func (s State) barsStart(d kube.Difference) bool {
	return d.Object == s.authority() && (d.Kind == kube.DifferenceMissing || d.Kind == kube.DifferenceUnusable)
}

// barsRestart reports whether a member would not come back from a restart with
// that difference, or not alone.
func (s State) barsRestart(d kube.Difference) bool {
	broken := d.Kind == kube.DifferenceMissing || d.Kind == kube.DifferenceUnusable
	switch kindOf(d) {
	case kindSecret:
		return broken && d.Member != ""
	case kindService:
		return objectName(d) == v1alpha1.HeadlessService(s.Cluster.Name) && (broken || d.Is("spec.selector"))
	case kindWorkload:
		// Who weighs why members crash must not weigh what somebody made of their templates.
		// Members without a pod it brings back itself.
		idle := s.verb() == v1alpha1.VerbRecover && d.Have == "0"
		return d.Is("spec.replicas") && !idle || d.Template() && s.verb() == v1alpha1.VerbRecover
	}
	return false
}

// repaired predicts an object that was put back.
func (s *State) repaired(step Step) {
	object := step.Touches[0]
	if strings.HasPrefix(object, kindBudget) {
		if n := quorumOf(*s); n > 0 {
			s.Kube.Budget = &n
		}
	}
	for _, d := range s.Kube.Differences {
		if d.Object == object && d.Template() {
			s.Kube.Members[s.memberIndex(d.Member)].Workload.Revision = "predicted"
		}
	}
	s.Kube.Differences = slices.DeleteFunc(slices.Clone(s.Kube.Differences), func(d kube.Difference) bool { return d.Object == object })
}
