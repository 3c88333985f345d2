package operator

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// The conditions, in the sense of kstatus: Reconciling and Stalled are abnormal when true.
const (
	conditionReady       = "Ready"
	conditionReconciling = "Reconciling"
	conditionStalled     = "Stalled"
	// conditionBackup is true while scheduled backups are taken when they are due;
	// without a schedule there is none. It says nothing about the database.
	conditionBackup = "BackupHealthy"
	// conditionDrifted is true while members are not as this version renders
	// them, which only a person's request changes; otherwise there is none.
	conditionDrifted = "Drifted"
	// conditionAltered is true while objects are not as this tool made them, or
	// are missing; otherwise there is none.
	conditionAltered = "Altered"
)

// conditions sets all three, each with a reason.
func (s *sheet) conditions(c *v1alpha1.DatabaseCluster) {
	set := func(kind string, status metav1.ConditionStatus, reason, message string) {
		meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason,
			Message: said(c.Namespace, message), ObservedGeneration: c.Generation})
	}
	reconciling, stalled := false, s.stalled != nil
	switch o := s.operation(); {
	case stalled:
		set(conditionStalled, metav1.ConditionTrue, reasonOf(s.stalled), told(c.Namespace, s.stalled))
	case o != nil:
		reconciling = true
		message := string(o.Spec.Verb)
		if s.why != "" {
			message += ": " + s.why
		}
		if s.holder != "" {
			message += "; what is wanted waits: " + s.holder
		}
		set(conditionReconciling, metav1.ConditionTrue, "Operation", message)
	case s.holder != "":
		reconciling = true
		set(conditionReconciling, metav1.ConditionTrue, "Busy", s.holder)
	}
	if !stalled {
		set(conditionStalled, metav1.ConditionFalse, "NotStalled", "")
	}
	if !reconciling {
		set(conditionReconciling, metav1.ConditionFalse, "Settled", "")
	}
	switch {
	case s.state == nil && s.paused:
		set(conditionReady, metav1.ConditionFalse, "Paused", "it is paused, and was not made yet")
	case s.state == nil && (stalled || meta.FindStatusCondition(c.Status.Conditions, conditionReady) == nil):
		set(conditionReady, metav1.ConditionUnknown, "NotSeen", "it was not observed yet")
	case s.state == nil:
	case s.verdict.Database != health.Healthy:
		set(conditionReady, metav1.ConditionFalse,
			strings.ToUpper(string(s.verdict.Database[:1]))+string(s.verdict.Database[1:]), s.sentence())
	case reconciling || stalled:
		set(conditionReady, metav1.ConditionUnknown, "NotAsWanted", s.verdict.Headline+"; it is not as wanted yet")
	default:
		set(conditionReady, metav1.ConditionTrue, "Healthy", s.verdict.Headline)
	}
}

// backups tells how scheduled backups go, where that was observed.
func (s *sheet) backups(c *v1alpha1.DatabaseCluster) {
	if s.state == nil {
		return
	}
	b := health.Scheduled(*s.state)
	if b == nil {
		if s.state.Cluster.Spec.Backup.Schedule == "" {
			meta.RemoveStatusCondition(&c.Status.Conditions, conditionBackup)
		}
		return
	}
	condition := metav1.Condition{Type: conditionBackup, Status: metav1.ConditionTrue, Reason: "UpToDate",
		ObservedGeneration: c.Generation}
	if b.Problem != "" {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, b.Reason,
			said(c.Namespace, b.Problem)
	}
	meta.SetStatusCondition(&c.Status.Conditions, condition)
}

// drifted tells of members that another version rendered, where that was observed.
func (s *sheet) drifted(c *v1alpha1.DatabaseCluster) {
	if s.state == nil || s.operation() != nil {
		return
	}
	names := rules.Drifted(*s.state)
	if len(names) == 0 {
		meta.RemoveStatusCondition(&c.Status.Conditions, conditionDrifted)
		return
	}
	meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: conditionDrifted, Status: metav1.ConditionTrue,
		Reason: "RenderedOtherwise", ObservedGeneration: c.Generation,
		Message: said(c.Namespace, strings.Join(names, ", ")+": not as this version renders them; kubectl dbop restart "+
			c.Name+" changes that")})
}

// altered tells of objects that somebody changed or deleted, where that was observed.
func (s *sheet) altered(c *v1alpha1.DatabaseCluster) {
	if s.state == nil || s.operation() != nil {
		return
	}
	all := health.Altered(*s.state)
	if len(all) == 0 {
		meta.RemoveStatusCondition(&c.Status.Conditions, conditionAltered)
		return
	}
	texts := make([]string, len(all))
	for i, f := range all {
		texts[i] = f.Subject + ": " + f.What
	}
	meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: conditionAltered, Status: metav1.ConditionTrue,
		Reason: "ObjectsDiffer", ObservedGeneration: c.Generation,
		Message: said(c.Namespace, strings.Join(texts, "; ")+"; "+all[0].Remedy[0])})
}

// sentence is the verdict with what is wrong, and what to type where nobody acts.
func (s *sheet) sentence() string {
	text := s.verdict.Headline
	if s.operation() == nil && len(s.verdict.Next) > 0 {
		text += "; next: " + s.verdict.Next[0]
	}
	if len(s.verdict.Problems) == 0 {
		return text
	}
	return text + "; " + strings.Join(s.verdict.Problems, "; ")
}
