package operation

import (
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/drift"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/operation/certificates"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// Repair puts back what is not as this tool makes it.
type Repair struct{ rules.Plain }

// Traits implements rules.Operation.
func (Repair) Traits() rules.Traits {
	return rules.Traits{Unformed: true, Stopped: true, ReadsCertificates: true, Schedule: rules.ScheduleMade}
}

// Manners implements rules.Operation.
func (Repair) Manners() ops.Manners { return ops.Manners{StepsBack: ops.Anytime} }

// Resolve writes down the pods that restart, and the authority that is replaced.
func (Repair) Resolve(_ engine.Engine, o *v1alpha1.OperationSpec, s ops.State) error {
	if !o.Quiet {
		o.Pods = wrongPods(s)
		certificates.Pin(o, s)
	}
	return nil
}

// Steps implements rules.Operation.
func (Repair) Steps() rules.Steps {
	return rules.Steps{First: rebuilding, Stopped: repair, Sized: func(p rules.Situation) *ops.Decision {
		return restart(p, "its pod was made from a template that somebody changed, or was changed itself")
	}}
}

// Undo implements rules.Operation.
func (Repair) Undo(u *rules.Undoing) error { return u.Unchanged() }

// rebuilding makes again what was lost of a cluster, for a repair: its record,
// then its services and its certificate authority with what that signs. Other
// objects and the members follow. Each step is seen in what is there, so a repeat
// goes on.
func rebuilding(p rules.Situation) *ops.Decision {
	if p.S.Cancelling() {
		return nil
	}
	if c := p.S.Cluster; c.DeletionTimestamp != nil {
		return rules.Block(&ops.Error{Kind: ops.NeedsHuman, Check: "record-terminating", Message: health.RecordEnding(c),
			Hint: strings.Join(health.EndRecord(c), "; then: ")})
	}
	if p.S.Cluster.ResourceVersion == "" {
		return rules.Do(ops.Step{ID: "write-record", Action: ops.ActionWriteRecord, Risk: ops.RiskNone,
			Deadline: rules.StepDeadline,
			Title:    "Write the record of the cluster again", Reason: "it is missing; the volume claims hold a copy of it",
			Touches: []string{"configmap/" + v1alpha1.Record(p.S.Cluster.Name)}})
	}
	if !p.S.Formed() {
		return nil
	}
	if !p.S.Kube.Services {
		return p.Services()
	}
	return certificates.Restore(p)
}

// repair puts back what is not as this tool made it. All of its steps but the
// last restart nobody; then the members whose pod was made from a changed
// template restart one by one (family restart).
func repair(p rules.Situation) *ops.Decision {
	if p.S.Cancelling() {
		return nil
	}
	quiet := p.S.Operation.Spec.Quiet
	if d := p.PutBack(func(d drift.Difference) bool { return !quiet || health.Undisruptive(d) }); d != nil {
		return d
	}
	if d := p.Scheduling(); d != nil {
		return d
	}
	if d := p.Archiving(); d != nil {
		return d
	}
	if quiet {
		return &ops.Decision{Done: true}
	}
	if d := takeBack(p); d != nil {
		return d
	}
	if lost := health.AuthorityLost(p.S); lost != nil {
		f := health.Finding(p.S, *lost)
		return rules.Block(&ops.Error{Kind: ops.NeedsHuman, Check: "authority", Message: f.Subject + ": " + f.What,
			Hint: "put the secret back from a copy; what it signed stays valid until then"})
	}
	return nil
}

// takeBack takes back what somebody set on one member alone.
func takeBack(p rules.Situation) *ops.Decision {
	for _, m := range p.S.View.Members {
		if len(m.Overridden) > 0 {
			return rules.Do(ops.Step{ID: string(ops.ActionTakeBack) + "/" + m.Name, Action: ops.ActionTakeBack,
				Members: []string{m.Name}, Risk: ops.RiskNone, Deadline: rules.StepDeadline,
				Title:  "Take back what was set on " + m.Name + " alone: " + strings.Join(m.Overridden, ", "),
				Reason: "another member that leads would not have it"})
		}
	}
	return nil
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
