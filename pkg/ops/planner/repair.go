package planner

import (
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/drift"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
)

// repair puts back what is not as this tool made it. All of its steps but the
// last restart nobody; then the members whose pod was made from a changed
// template restart one by one (family restart).
func (p Planner) repair() *ops.Decision {
	if p.S.Verb() != v1alpha1.VerbRepair || p.S.Cancelling() {
		return nil
	}
	quiet := p.S.Operation.Spec.Quiet
	if d := p.PutBack(func(d drift.Difference) bool { return !quiet || health.Undisruptive(d) }); d != nil {
		return d
	}
	if d := p.Scheduling(); d != nil {
		return d
	}
	if quiet {
		return &ops.Decision{Done: true}
	}
	if lost := health.AuthorityLost(p.S); lost != nil {
		f := health.Finding(p.S, *lost)
		return block(&ops.Error{Kind: ops.NeedsHuman, Check: "authority", Message: f.Subject + ": " + f.What,
			Hint: "put the secret back from a copy; what it signed stays valid until then"})
	}
	return nil
}

// templates puts templates back where members are started, or where an
// operation is stepped back that restarts them.
func (p Planner) templates() *ops.Decision {
	if p.S.Operation == nil || p.S.Cluster.Spec.Stopped || !p.S.Formed() {
		return nil
	}
	if _, restarts := startsMembers(p.S.Verb()); p.S.Verb() != v1alpha1.VerbStart && (!p.S.Cancelling() || !restarts) {
		return nil
	}
	return p.putBackTemplates()
}

// PutBack puts back the differences that are asked for, the most dangerous
// first: a second pod on one volume, then what members need to start.
func (p Planner) PutBack(asked func(drift.Difference) bool) *ops.Decision {
	for _, part := range []func(drift.Difference) bool{
		func(d drift.Difference) bool { return d.Is("spec.replicas") },
		func(d drift.Difference) bool { return health.KindOf(d) == health.KindSecret },
		func(d drift.Difference) bool { return health.KindOf(d) == health.KindService },
		func(drift.Difference) bool { return true },
	} {
		for _, d := range p.S.Kube.Differences {
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
func (p Planner) putsBack(d drift.Difference) bool {
	// An authority that is gone or can't sign is not derivable: see rebuilding.
	if !health.Derivable(p.S, d) || health.Leaving(p.S, d) || health.KindOf(d) == health.KindPod && d.Is("spec") || health.OfSchedule(health.KindOf(d)) {
		return false
	}
	return health.Mendable(d)
}

// putBackObject writes one object as this tool makes it.
func (p Planner) putBackObject(object string) *ops.Decision {
	var fields []string
	step := ops.Step{ID: string(ops.ActionRepair) + "/" + object, Action: ops.ActionRepair, Risk: ops.RiskNone, Deadline: WaitDeadline, Touches: []string{object}}
	for _, d := range p.S.Kube.Differences {
		if d.Object != object {
			continue
		}
		if d.Kind == drift.Terminating {
			return p.await("deleted", object+" is being deleted")
		}
		if d.Member != "" {
			step.Members = []string{d.Member}
		}
		fields = append(fields, health.Change(d))
	}
	step.Title, step.Reason = "Put back "+object, strings.Join(fields, "; ")
	return do(step)
}

// misfits restarts members that can't start and whose pod was made from
// another template than their workload has now: nothing is risked by it.
func (p Planner) misfits() *ops.Decision {
	for _, m := range p.S.Kube.Members {
		if !p.cantStart(m) || m.Pod.Revision == m.Workload.Revision || m.Pod.Terminating {
			continue
		}
		return do(ops.Step{ID: string(ops.ActionRevive) + "/" + m.Name, Action: ops.ActionRevive, Members: []string{m.Name}, Risk: ops.RiskRestart, Deadline: StepDeadline,
			Title: "Make the pod of " + m.Name + " again", Reason: "it does not start, and was made from another template than the StatefulSet has now",
			Touches: []string{"pod/" + v1alpha1.PodName(m.Name)}})
	}
	return nil
}

// putBackTemplates puts templates and replicas back for an operation that
// makes members run, or that is stepped back: no member may be left with
// something that nobody asked for.
func (p Planner) putBackTemplates() *ops.Decision {
	return p.PutBack(func(d drift.Difference) bool {
		return health.KindOf(d) == health.KindWorkload && (d.Template() || d.Is("spec.replicas"))
	})
}

// wrongPods are the pods, by member, that run with something else than this
// tool renders: they were made from a changed template, or changed themselves.
func wrongPods(s ops.State) map[string]string {
	out := map[string]string{}
	for _, d := range s.Kube.Differences {
		m := s.Kube.Member(d.Member)
		made := health.KindOf(d) == health.KindWorkload && d.Template() && m.Pod.Revision == m.Workload.Revision
		if m.Pod.Exists && (made || health.KindOf(d) == health.KindPod && d.Is("spec")) {
			out[d.Member] = m.Pod.UID
		}
	}
	return out
}

// intact refuses a new operation whose members would not start as things are.
// It is asked before the request is written down.
func (p Planner) intact() *ops.Decision {
	if p.S.Operation == nil || !p.fresh() || !p.S.Formed() || p.S.Cluster.Spec.Stopped && p.S.Verb() != v1alpha1.VerbStart {
		return nil
	}
	starts, restarts := startsMembers(p.S.Verb())
	if starts || restarts || p.S.Verb() == v1alpha1.VerbRemoveMember {
		if d := p.unknownFirst(); d != nil {
			return d
		}
	}
	for _, d := range p.S.Kube.Differences {
		if p.S.Verb() == v1alpha1.VerbRotateCertificates && health.KindOf(d) == health.KindSecret && d.Kind == drift.Unusable {
			continue // a rotation is what mends it
		}
		if starts && barsStart(p.S, d) || restarts && barsRestart(p.S, d) {
			f := health.Finding(p.S, d)
			return block(&ops.Error{Kind: ops.Refused, Check: "altered", Message: f.Subject + ": " + f.What, Hint: "first: kubectl dbop repair " + p.S.Cluster.Name})
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
func barsStart(s ops.State, d drift.Difference) bool {
	return d.Object == health.Authority(s) && (d.Kind == drift.Missing || d.Kind == drift.Unusable)
}

// barsRestart reports whether a member would not come back from a restart with
// that difference, or not alone.
func barsRestart(s ops.State, d drift.Difference) bool {
	broken := d.Kind == drift.Missing || d.Kind == drift.Unusable
	switch health.KindOf(d) {
	case health.KindSecret:
		return broken && d.Member != ""
	case health.KindService:
		return health.ObjectName(d) == v1alpha1.HeadlessService(s.Cluster.Name) && (broken || d.Is("spec.selector"))
	case health.KindWorkload:
		// Who weighs why members crash must not weigh what somebody made of their templates.
		// Members without a pod it brings back itself.
		idle := s.Verb() == v1alpha1.VerbRecover && d.Have == "0"
		return d.Is("spec.replicas") && !idle || d.Template() && s.Verb() == v1alpha1.VerbRecover
	}
	return false
}

// repaired predicts an object that was put back.
func repaired(s *ops.State, e engine.Engine, step ops.Step) {
	object := step.Touches[0]
	if strings.HasPrefix(object, health.KindBudget) {
		if n := ops.BudgetOf(e, *s); n > 0 {
			s.Kube.Budget = &n
		}
	}
	for _, d := range s.Kube.Differences {
		if d.Object == object && d.Template() {
			s.Kube.Members[s.MemberIndex(d.Member)].Workload.Revision = "predicted"
		}
	}
	s.Kube.Differences = slices.DeleteFunc(slices.Clone(s.Kube.Differences), func(d drift.Difference) bool { return d.Object == object })
}
