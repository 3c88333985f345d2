package diagnostics

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

func TestLastError(t *testing.T) {
	t.Parallel()
	at := metav1.NewTime(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).Add(-time.Hour))
	record := func(name string, phase v1alpha1.Phase, message string,
		journal ...v1alpha1.JournalEntry) v1alpha1.Operation {
		o := v1alpha1.Operation{Spec: v1alpha1.OperationSpec{Verb: v1alpha1.VerbScale},
			Status: v1alpha1.OperationStatus{Phase: phase, Message: message, FinishedAt: &at, Journal: journal}}
		o.Name = name
		return o
	}
	wrong := v1alpha1.JournalEntry{StartedAt: at, Error: "no leader"}
	failed := record("old", v1alpha1.PhaseFailed, "out of space")
	for _, test := range []struct {
		name    string
		records []v1alpha1.Operation
		want    *lastError
	}{
		{"none", nil, nil},
		{"a step of the running one",
			[]v1alpha1.Operation{record("new", v1alpha1.PhaseRunning, "", wrong, v1alpha1.JournalEntry{}), failed},
			&lastError{Time: at.Time, Operation: "new", Verb: v1alpha1.VerbScale, Message: "no leader"}},
		{"before the running one", []v1alpha1.Operation{record("new", v1alpha1.PhaseRunning, ""), failed},
			&lastError{Time: at.Time, Operation: "old", Verb: v1alpha1.VerbScale, Message: "out of space"}},
		{"one succeeded since", []v1alpha1.Operation{record("new", v1alpha1.PhaseSucceeded, "", wrong), failed}, nil},
	} {
		if diff := cmp.Diff(test.want, lastErrorOf(test.records)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}
