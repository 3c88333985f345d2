package health

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/drift"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// altered are the differences that count now. While an operation is in flight
// it makes, changes and removes objects itself, and only what it never does to
// them is told.
func altered(s ops.State) []drift.Difference {
	if s.Operation == nil {
		return s.Kube.Differences
	}
	return slices.DeleteFunc(slices.Clone(s.Kube.Differences), func(d drift.Difference) bool {
		kind := KindOf(d)
		return d.Kind == drift.Missing || d.Kind == drift.Terminating || kind == KindVolume || kind == KindBudget ||
			OfSchedule(d)
	})
}

// The kinds of objects that differences are of, as Difference.Object begins.
const (
	KindService  = "service"
	KindBudget   = "poddisruptionbudget"
	KindVolume   = "persistentvolumeclaim"
	KindWorkload = "statefulset"
	KindPod      = "pod"
	KindSecret   = "secret"
	KindCronJob  = "cronjob"
	KindAccount  = "serviceaccount"
	KindRole     = "role"
	KindBinding  = "rolebinding"
)

// KindOf is the kind of the object that differs, in lower case.
func KindOf(d drift.Difference) string {
	kind, _, _ := strings.Cut(d.Object, "/")
	return kind
}

// ObjectName is the name of the object that differs.
func ObjectName(d drift.Difference) string {
	_, name, _ := strings.Cut(d.Object, "/")
	return name
}

// maxValue bounds a value in a finding.
const maxValue = 120

// Finding says of a difference what it is, who made it and since when, what it
// does to the database, and what mends it.
func Finding(s ops.State, d drift.Difference) ops.Finding {
	f := ops.Finding{Severity: ops.Warn, Subject: d.Object, What: Change(d), Remedy: []string{remedy(s, d)}}
	effect, grave := effect(s, d)
	if grave {
		f.Severity = ops.Fail
	}
	if effect != "" {
		f.What += ": " + effect
	}
	switch {
	case d.By != "" && !d.Since.IsZero():
		f.Evidence = []string{fmt.Sprintf("%s wrote it at %s", d.By, ops.Moment(d.Since))}
	case d.By != "":
		f.Evidence = []string{d.By + " wrote it"}
	case !d.Since.IsZero():
		f.Evidence = []string{"since " + ops.Moment(d.Since)}
	}
	return f
}

// Change says what differs.
func Change(d drift.Difference) string {
	switch d.Kind {
	case drift.Missing:
		return "it does not exist"
	case drift.Added:
		return fmt.Sprintf("%s was added: %s", d.Field, short(d.Have))
	case drift.Owner:
		return "it has owner " + d.Have
	case drift.Finalizer:
		return "it has finalizer " + short(d.Have)
	case drift.Terminating:
		return "it is being deleted"
	case drift.Unusable:
		return short(d.Have)
	}
	switch {
	case d.Have == "" && d.Want == "":
		return d.Field + " was changed"
	case d.Have == "":
		return fmt.Sprintf("%s was removed, and was %s", d.Field, short(d.Want))
	case d.Want == "":
		return fmt.Sprintf("%s was changed to %s", d.Field, short(d.Have))
	}
	return fmt.Sprintf("%s is %s, not %s", d.Field, short(d.Have), short(d.Want))
}

func short(value string) string {
	if len(value) > maxValue {
		return strings.ToValidUTF8(value[:maxValue], "") + "..."
	}
	return value
}

// Altered are the findings about objects that are not as this tool made them.
func Altered(s ops.State) []ops.Finding {
	if s.Cluster == nil {
		return nil
	}
	var out []ops.Finding
	if c := s.Cluster; c.DeletionTimestamp != nil && (s.Operation == nil || s.Verb() != v1alpha1.VerbDelete) {
		out = append(out, ops.Finding{Severity: ops.Fail, Subject: "configmap/" + v1alpha1.Record(c.Name),
			What: RecordEnding(c), Remedy: EndRecord(c)})
	}
	for _, d := range altered(s) {
		out = append(out, Finding(s, d))
	}
	if f, found := outlived(s); found {
		out = append(out, f)
	}
	if f, found := misled(s); found {
		out = append(out, f)
	}
	return out
}

// differences tells of objects that are not as this tool made them.
func (a *assessment) differences() {
	all := Altered(a.s)
	for _, r := range UnknownMembers(a.s) {
		all = append(all, UnknownFinding(a.s, r))
	}
	for _, f := range all {
		a.problem("%s: %s", f.Subject, f.What)
		if !slices.Contains(a.mend, f.Remedy[0]) && a.s.Operation == nil {
			a.mend = append(a.mend, f.Remedy[0])
		}
	}
}

// differences adds a finding for each.
func (d *Examination) differences() {
	for _, f := range Altered(d.S) {
		d.add(f)
	}
	for _, kinds := range d.S.Kube.Unexamined {
		d.add(ops.Finding{Severity: ops.Warn, Subject: kinds, What: "not examined: there is no right to read them",
			Remedy: []string{"repeat it as somebody who may read them"}})
	}
}

// RecordEnding says of a record that somebody deleted it, and what keeps it.
func RecordEnding(c *v1alpha1.DatabaseCluster) string {
	return fmt.Sprintf(
		"the record of %s (configmap %s) is being deleted, and is there only until its finalizers are removed: %s",
		c.Name, v1alpha1.Record(c.Name), strings.Join(c.Finalizers, ", "))
}

// EndRecord are the commands after which a record that was deleted is there again.
func EndRecord(c *v1alpha1.DatabaseCluster) []string {
	return []string{
		fmt.Sprintf(`kubectl patch configmap %s -n %s --type=merge -p '{"metadata":{"finalizers":null}}'`,
			v1alpha1.Record(c.Name), c.Namespace),
		"kubectl dbop repair " + c.Name}
}
