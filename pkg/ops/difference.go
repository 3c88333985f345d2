package ops

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// altered are the differences that count now. While an operation is in flight
// it makes, changes and removes objects itself, and only what it never does to
// them is told.
func (s State) altered() []kube.Difference {
	if s.Operation == nil {
		return s.Kube.Differences
	}
	return slices.DeleteFunc(slices.Clone(s.Kube.Differences), func(d kube.Difference) bool {
		kind := kindOf(d)
		return d.Kind == kube.DifferenceMissing || d.Kind == kube.DifferenceTerminating || kind == kindVolume || kind == kindBudget || ofSchedule(kind)
	})
}

// The kinds of objects that differences are of, as Difference.Object begins.
const (
	kindService  = "service"
	kindBudget   = "poddisruptionbudget"
	kindVolume   = "persistentvolumeclaim"
	kindWorkload = "statefulset"
	kindPod      = "pod"
	kindSecret   = "secret"
	kindCronJob  = "cronjob"
)

func kindOf(d kube.Difference) string {
	kind, _, _ := strings.Cut(d.Object, "/")
	return kind
}

func objectName(d kube.Difference) string {
	_, name, _ := strings.Cut(d.Object, "/")
	return name
}

// maxValue bounds a value in a finding.
const maxValue = 120

// finding says of a difference what it is, who made it and since when, what it
// does to the database, and what mends it.
func (s State) finding(d kube.Difference) Finding {
	f := Finding{Severity: Warn, Subject: d.Object, What: change(d), Remedy: []string{s.remedy(d)}}
	effect, grave := s.effect(d)
	if grave {
		f.Severity = Fail
	}
	if effect != "" {
		f.What += ": " + effect
	}
	switch {
	case d.By != "" && !d.Since.IsZero():
		f.Evidence = []string{fmt.Sprintf("%s wrote it at %s", d.By, moment(d.Since))}
	case d.By != "":
		f.Evidence = []string{d.By + " wrote it"}
	case !d.Since.IsZero():
		f.Evidence = []string{"since " + moment(d.Since)}
	}
	return f
}

// change says what differs.
func change(d kube.Difference) string {
	switch d.Kind {
	case kube.DifferenceMissing:
		return "it does not exist"
	case kube.DifferenceAdded:
		return fmt.Sprintf("%s was added: %s", d.Field, short(d.Have))
	case kube.DifferenceOwner:
		return "it has owner " + d.Have
	case kube.DifferenceFinalizer:
		return "it has finalizer " + short(d.Have)
	case kube.DifferenceTerminating:
		return "it is being deleted"
	case kube.DifferenceUnusable:
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
func (s State) Altered() []Finding {
	if s.Cluster == nil {
		return nil
	}
	var out []Finding
	if c := s.Cluster; c.DeletionTimestamp != nil && (s.Operation == nil || s.verb() != v1alpha1.VerbDelete) {
		out = append(out, Finding{Severity: Fail, Subject: "configmap/" + v1alpha1.Record(c.Name), What: recordEnding(c), Remedy: endRecord(c)})
	}
	for _, d := range s.altered() {
		out = append(out, s.finding(d))
	}
	return out
}

// differences tells of objects that are not as this tool made them.
func (a *assessment) differences() {
	all := a.s.Altered()
	for _, r := range a.s.unknown() {
		all = append(all, a.s.unknownFinding(r))
	}
	for _, f := range all {
		a.problem("%s: %s", f.Subject, f.What)
		if !slices.Contains(a.mend, f.Remedy[0]) && a.s.Operation == nil {
			a.mend = append(a.mend, f.Remedy[0])
		}
	}
}

// differences adds a finding for each.
func (d *diagnosis) differences() {
	for _, f := range d.s.Altered() {
		d.add(f)
	}
	for _, kinds := range d.s.Kube.Unexamined {
		d.add(Finding{Severity: Warn, Subject: kinds, What: "not examined: there is no right to read them", Remedy: []string{"repeat it as somebody who may read them"}})
	}
}
