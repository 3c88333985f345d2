package policy

import (
	"fmt"
	"slices"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/drift"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// What an operator replaces without being asked: how long a member must have
// been crashing, how many members an hour, and by whom such a request is.
const (
	healPatience = 10 * time.Minute
	healBudget   = 2
	healWindow   = time.Hour
)

// SelfHealedBy is who asks for what nobody asked for.
const SelfHealedBy = ops.OperatorPrefix + "self-healing"

// SelfHeal says what a cluster that nobody works on needs, as an operation that a
// person could ask for too; nil for nothing. history are its operations,
// newest first. It acts on evidence only, one thing at a time, and never
// without a quorum of healthy members: a lost quorum is told, not repaired.
func SelfHeal(e engine.Engine, s ops.State, history []v1alpha1.Operation) (*v1alpha1.OperationSpec, error) {
	if s.Cluster == nil || s.Operation != nil || !s.Formed() || s.Cluster.Spec.Stopped || s.Cluster.Spec.Paused {
		return nil, nil
	}
	o := &v1alpha1.OperationSpec{Cluster: s.Cluster.Name, RequestedBy: SelfHealedBy}
	if d := planner.Decide(e, s); d.Step != nil && (d.Step.Action == ops.ActionStart ||
		d.Step.Action == ops.ActionBudget || d.Step.Action == ops.ActionDisableBootstrap ||
		d.Step.Action == ops.ActionArchive || d.Step.Action == ops.ActionUnarchive) {
		// A workload or budget that somebody deleted: start puts back what is
		// missing of a cluster that is wanted running.
		o.Verb = v1alpha1.VerbStart
		return o, nil
	}
	if slices.ContainsFunc(s.Kube.Differences, func(d drift.Difference) bool {
		return health.Undisruptive(d) && health.Derivable(s, d) && !health.Leaving(s, d)
	}) {
		o.Verb, o.Quiet = v1alpha1.VerbRepair, true
		return o, nil
	}
	if d := planner.For(e, s).Scheduling(); d != nil {
		o.Verb, o.Policy = v1alpha1.VerbSchedule, new(s.Cluster.Spec.Backup)
		return o, nil
	}
	if name := beyondRepair(s, e); name != "" {
		o.Verb, o.Member = v1alpha1.VerbReplaceMember, name
		return o, withinBudget(s, history, name)
	}
	for _, x := range health.Expiries(s) {
		if !x.Authority && s.View.Quorum {
			o.Verb, o.Rotation = v1alpha1.VerbRotateCertificates, v1alpha1.RotateLeaves
			return o, nil
		}
	}
	return nil, nil
}

// beyondRepair names a member that does not come back by itself, while all
// others are well.
func beyondRepair(s ops.State, e engine.Engine) string {
	if !s.View.Quorum || len(health.UnknownMembers(s)) > 0 {
		return ""
	}
	name := ""
	for _, r := range s.View.Voters() {
		if e.Health(s.View, r.Name) == nil {
			continue
		}
		m := s.Kube.Member(r.Name)
		crashing := m.Pod.Problem != nil && m.Pod.Problem.Kind == observe.ProblemCrashing &&
			s.Now.Sub(m.Pod.Problem.Since) > healPatience
		if name != "" || m.Volume.Exists && !crashing || m.Volume.Terminating {
			return ""
		}
		name = r.Name
	}
	return name
}

// withinBudget refuses to replace one member after another: what takes several
// within an hour is not mended by new volumes.
func withinBudget(s ops.State, history []v1alpha1.Operation, name string) error {
	spent := 0
	for _, o := range history {
		if o.Spec.Verb == v1alpha1.VerbReplaceMember && o.Spec.RequestedBy == SelfHealedBy &&
			s.Now.Sub(o.Status.StartedAt.Time) < healWindow {
			spent++
		}
	}
	if spent < healBudget {
		return nil
	}
	return &ops.Error{Kind: ops.NeedsHuman, Check: "healing-budget",
		Message: fmt.Sprintf(
			"%s is lost, and %d members were replaced within the last hour already: something takes them that no "+
				"replacement mends", name, spent),
		Hint: fmt.Sprintf("find out what it is; then kubectl dbop member replace %s %s", s.Cluster.Name, name)}
}
