package rules

import (
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/drift"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
)

// Templates puts templates back where members are started, or where an
// operation is stepped back that restarts them.
func (p Situation) Templates() *ops.Decision {
	if p.S.Operation == nil || p.S.Cluster.Spec.Stopped || !p.S.Formed() {
		return nil
	}
	if !p.Traits.PutsBackTemplates && (!p.S.Cancelling() || !p.Traits.Restarts) {
		return nil
	}
	return p.putBackTemplates()
}

// PutBack puts back the differences that are asked for, the most dangerous
// first: a second pod on one volume, then what members need to start.
func (p Situation) PutBack(asked func(drift.Difference) bool) *ops.Decision {
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
// the pod, and a schedule and an archive are made again as a whole.
func (p Situation) putsBack(d drift.Difference) bool {
	// An authority that is gone or can't sign is not derivable: see rebuilding.
	if !health.Derivable(p.S, d) || health.Leaving(p.S, d) || health.KindOf(d) == health.KindPod && d.Is("spec") ||
		health.OfSchedule(d) || health.OfArchive(p.S, d) {
		return false
	}
	return health.Mendable(d)
}

// putBackObject writes one object as this tool makes it.
func (p Situation) putBackObject(object string) *ops.Decision {
	var fields []string
	step := ops.Step{ID: string(ops.ActionRepair) + "/" + object, Action: ops.ActionRepair, Risk: ops.RiskNone,
		Deadline: WaitDeadline, Touches: []string{object}}
	for _, d := range p.S.Kube.Differences {
		if d.Object != object {
			continue
		}
		if d.Kind == drift.Terminating {
			return p.Await("deleted", object+" is being deleted")
		}
		if d.Member != "" {
			step.Members = []string{d.Member}
		}
		fields = append(fields, health.Change(d))
	}
	step.Title, step.Reason = "Put back "+object, strings.Join(fields, "; ")
	return Do(step)
}

// misfits restarts members that can't start and whose pod was made from
// another template than their workload has now: nothing is risked by it.
func (p Situation) misfits() *ops.Decision {
	for _, m := range p.S.Kube.Members {
		if !p.cantStart(m) || m.Pod.Revision == m.Workload.Revision || m.Pod.Terminating {
			continue
		}
		return Do(ops.Step{ID: string(ops.ActionRevive) + "/" + m.Name, Action: ops.ActionRevive, Members: []string{m.Name},
			Risk: ops.RiskRestart, Deadline: StepDeadline,
			Title:   "Make the pod of " + m.Name + " again",
			Reason:  "it does not start, and was made from another template than the StatefulSet has now",
			Touches: []string{"pod/" + v1alpha1.PodName(m.Name)}})
	}
	return nil
}

// putBackTemplates puts templates and replicas back for an operation that
// makes members run, or that is stepped back: no member may be left with
// something that nobody asked for.
func (p Situation) putBackTemplates() *ops.Decision {
	return p.PutBack(func(d drift.Difference) bool {
		return health.KindOf(d) == health.KindWorkload && (d.Template() || d.Is("spec.replicas"))
	})
}

// Intact refuses a new operation whose members would not start as things are.
// It is asked before the request is written down.
func (p Situation) Intact() *ops.Decision {
	if p.S.Operation == nil || !p.Fresh() || !p.S.Formed() || p.S.Cluster.Spec.Stopped && !p.Traits.PutsBackTemplates {
		return nil
	}
	if p.Traits.Starts || p.Traits.Restarts || p.Manners.Removes {
		if d := p.unknownFirst(); d != nil {
			return d
		}
	}
	for _, d := range p.S.Kube.Differences {
		if p.Traits.RenewsCertificates && health.KindOf(d) == health.KindSecret && d.Kind == drift.Unusable {
			continue // a rotation is what mends it
		}
		if p.Traits.Starts && barsStart(p.S, d) || p.Traits.Restarts && p.barsRestart(d) {
			f := health.Finding(p.S, d)
			return Block(&ops.Error{Kind: ops.Refused, Check: "altered", Message: f.Subject + ": " + f.What,
				Hint: "first: kubectl dbop repair " + p.S.Cluster.Name})
		}
	}
	return nil
}

// barsStart reports whether no new member can start with that difference.
func barsStart(s ops.State, d drift.Difference) bool {
	return d.Object == health.Authority(s) && (d.Kind == drift.Missing || d.Kind == drift.Unusable)
}

// barsRestart reports whether a member would not come back from a restart with
// that difference, or not alone.
func (p Situation) barsRestart(d drift.Difference) bool {
	if health.OfArchive(p.S, d) {
		return false
	}
	broken := d.Kind == drift.Missing || d.Kind == drift.Unusable
	switch health.KindOf(d) {
	case health.KindSecret:
		return broken && d.Member != ""
	case health.KindService:
		return health.ObjectName(d) == v1alpha1.HeadlessService(p.S.Cluster.Name) && (broken || d.Is("spec.selector"))
	case health.KindWorkload:
		// Who weighs why members crash must not weigh what somebody made of their templates.
		// Members without a pod it brings back itself.
		idle := p.Manners.Recovers && d.Have == "0"
		return d.Is("spec.replicas") && !idle || d.Template() && p.Manners.Recovers
	}
	return false
}
