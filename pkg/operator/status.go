package operator

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/policy"
)

// maxMessage bounds the message of a condition.
const maxMessage = 1024

// sheet is what one visit found out, to be written into status.
type sheet struct {
	skip, paused bool
	state        *ops.State
	verdict      health.Verdict
	healthy      int
	why, holder  string
	stalled      error
}

// saw keeps what was observed.
func (s *sheet) saw(e engine.Engine, state ops.State, why string) {
	if state.Cluster == nil {
		return
	}
	s.state, s.verdict, s.why, s.healthy = &state, health.Assess(e, state, planner.Verbs()), why, 0
	for _, r := range state.View.Voters() {
		if e.Health(state.View, r.Name) == nil {
			s.healthy++
		}
	}
}

// busy keeps who else acts.
func (s *sheet) busy(err error) { s.holder = err.Error() }

// fail keeps and tells why nothing goes on.
func (v *reconciliation) fail(err error) {
	v.report.stalled = err
	v.report.skip = false
	reason := reasonOf(err)
	if v.custom != nil {
		v.Events.Eventf(v.custom, nil, corev1.EventTypeWarning, reason, "Reconcile", "%s", told(v.key.Namespace, err))
		return
	}
	ctrllog.Log.WithName("cluster").Info("nothing is done", "namespace", v.key.Namespace, "name", v.key.Name, "reason",
		reason, "why", told(v.key.Namespace, err))
	if v.charge.Record != nil {
		if reason == checkReason(policy.CheckOrphaned) {
			v.gauges.orphaned(v.key)
		}
		record := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{Namespace: v.key.Namespace, Name: v1alpha1.Record(v.key.Name),
				UID: v.charge.Record.UID}}
		v.Events.Eventf(record, nil, corev1.EventTypeWarning, reason, "Delete", "%s", told(v.key.Namespace, err))
	}
}

// told is an error with its hint, as an object of that namespace carries it.
func told(namespace string, err error) string {
	text := err.Error()
	if e, ok := ops.AsError(err); ok && e.Hint != "" {
		text += "; " + e.Hint
	}
	return said(namespace, text)
}

// said is a text as an object of that namespace carries it: with fields of the
// spec and whole commands, without control characters, and bounded.
func said(namespace, text string) string {
	text = ops.Printable(ops.InNamespace(ops.InSpec(text), namespace))
	if len(text) > maxMessage {
		return strings.ToValidUTF8(text[:maxMessage-3], "") + "..."
	}
	return text
}

// reasonOf is an error's check, or kind, as conditions spell reasons.
func reasonOf(err error) string {
	if e, ok := ops.AsError(err); ok && e.Check != "" {
		return checkReason(e.Check)
	}
	return string(ops.KindOf(err))
}

// checkReason is the name of a check as conditions spell reasons.
func checkReason(check string) string {
	var out strings.Builder
	for _, word := range strings.FieldsFunc(check, func(c rune) bool {
		return c == '-' || c == '.' || c == '_' ||
			c == ' ' || c == '/'
	}) {
		out.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return out.String()
}

// publish writes the status if it says anything new.
func (v *reconciliation) publish(ctx context.Context) error {
	if v.custom == nil || v.report.skip {
		return nil
	}
	next := v.custom.DeepCopy()
	v.report.fill(next)
	next.Status.Operator = v.Operator
	if v.tracker.session != nil {
		next.Status.Operation = v.tracker.session.Operation().Name
	}
	v.gauges.set(v.key, next, v.report)
	if equality.Semantic.DeepEqual(v.custom.Status, next.Status) {
		return nil
	}
	return v.Custom.Status().Patch(ctx, next, client.MergeFrom(v.custom))
}

// fill translates what was seen into status; what was not seen stays as it was.
func (s *sheet) fill(c *v1alpha1.DatabaseCluster) {
	st := &c.Status
	st.ObservedGeneration = c.Generation
	st.Selector = v1alpha1.LabelCluster + "=" + c.Name + ",app.kubernetes.io/component=database"
	st.Operation = ""
	if o := s.operation(); o != nil {
		st.Operation = o.Name
	}
	if s.state != nil {
		st.Members = int32(len(s.state.View.Voters())) // #nosec G115 -- a cluster's size fits
		st.Ready = fmt.Sprintf("%d/%d", s.healthy, s.state.Cluster.Spec.Members)
		st.Leader, st.Version = "", common(s.state.View)
		if l, ok := s.state.View.Leader(); ok {
			st.Leader = l.Name
		}
		st.LastBackup, st.LastVerifiedBackup = s.state.Cluster.Status.LastBackup, s.state.Cluster.Status.LastVerifiedBackup
		st.LastProof, st.FailedProof = s.state.Cluster.Status.LastProof, s.state.Cluster.Status.FailedProof
	}
	st.Summary = s.summary(st.Summary)
	s.conditions(c)
	s.backups(c)
	s.drifted(c)
	s.altered(c)
}

func (s *sheet) operation() *v1alpha1.Operation {
	if s.state == nil || s.state.Operation == nil || !s.state.Operation.Active() {
		return nil
	}
	return s.state.Operation
}

// summary is the one word of the table.
func (s *sheet) summary(before string) string {
	switch {
	case s.stalled != nil:
		return "stalled"
	case s.paused:
		return "paused"
	case s.operation() != nil:
		return string(s.operation().Spec.Verb)
	case s.holder != "":
		return "busy"
	case s.state != nil && s.state.Cluster.Spec.Paused:
		return "paused"
	case s.state != nil && s.state.Cluster.Spec.Stopped:
		return "stopped"
	case s.state != nil:
		return string(s.verdict.Database)
	}
	return before
}

// common is the version that all members run; "" while they differ.
func common(v engine.View) string {
	out := ""
	for _, m := range v.Members {
		switch {
		case m.Version == "" || m.Version == out:
		case out == "":
			out = m.Version
		default:
			return ""
		}
	}
	return out
}
