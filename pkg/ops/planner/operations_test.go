package planner

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// TestWaysBack names every operation that can't be stepped back: a new one must be decided on.
func TestWaysBack(t *testing.T) {
	t.Parallel()
	var final []v1alpha1.Verb
	for verb := range operations() {
		if Verbs().Cancellable(&v1alpha1.Operation{Spec: v1alpha1.OperationSpec{Verb: verb}}) != nil {
			final = append(final, verb)
		}
	}
	slices.Sort(final)
	want := []v1alpha1.Verb{v1alpha1.VerbCreate, v1alpha1.VerbDelete, v1alpha1.VerbRemoveMember,
		v1alpha1.VerbReplaceMember, v1alpha1.VerbRestore, v1alpha1.VerbDeleteUser}
	if d := cmp.Diff(want, final); d != "" {
		t.Errorf("without a way back (-want +got):\n%s", d)
	}
}

// TestRolls: what restarts one member after another says so to both, the rules and other requests.
func TestRolls(t *testing.T) {
	t.Parallel()
	for verb, o := range operations() {
		if rolls := o.Traits().Outdated != nil; o.Manners().Rolls != rolls {
			t.Errorf("%s: Outdated is set: %t, Rolls: %t", verb, rolls, o.Manners().Rolls)
		}
	}
}

// TestSupersedes: which requests end which operations, of those that have changed something.
func TestSupersedes(t *testing.T) {
	t.Parallel()
	request := func(verb v1alpha1.Verb) v1alpha1.OperationSpec { return v1alpha1.OperationSpec{Verb: verb} }
	paused := v1alpha1.PhasePaused
	atOnce := v1alpha1.OperationSpec{Verb: v1alpha1.VerbRotateCertificates,
		CertificateParameters: v1alpha1.CertificateParameters{Rotation: v1alpha1.RotateAtOnce}}
	for name, c := range map[string]struct {
		asked  v1alpha1.OperationSpec
		active v1alpha1.Verb
		phase  v1alpha1.Phase
		want   bool
	}{
		"a deletion ends a scale":          {request(v1alpha1.VerbDelete), v1alpha1.VerbScale, "", true},
		"a deletion ends a recovery":       {request(v1alpha1.VerbDelete), v1alpha1.VerbRecover, "", true},
		"a recovery ends an upgrade":       {request(v1alpha1.VerbRecover), v1alpha1.VerbUpgrade, "", true},
		"a recovery ends no deletion":      {request(v1alpha1.VerbRecover), v1alpha1.VerbDelete, "", false},
		"a replacement ends an upgrade":    {request(v1alpha1.VerbReplaceMember), v1alpha1.VerbUpgrade, "", true},
		"a replacement ends a resize":      {request(v1alpha1.VerbReplaceMember), v1alpha1.VerbResize, "", true},
		"a replacement ends no scale":      {request(v1alpha1.VerbReplaceMember), v1alpha1.VerbScale, "", false},
		"a new authority ends an upgrade":  {atOnce, v1alpha1.VerbUpgrade, "", true},
		"a new authority ends no creation": {atOnce, v1alpha1.VerbCreate, "", false},
		"a new authority ends no recovery": {atOnce, v1alpha1.VerbRecover, "", false},
		"a new authority ends no deletion": {atOnce, v1alpha1.VerbDelete, "", false},
		"other rotations end nothing": {request(v1alpha1.VerbRotateCertificates),
			v1alpha1.VerbUpgrade, "", false},
		"a scale waits for an upgrade":           {request(v1alpha1.VerbScale), v1alpha1.VerbUpgrade, "", false},
		"alarms that came to a halt give way":    {request(v1alpha1.VerbResize), v1alpha1.VerbClearAlarms, paused, true},
		"alarms that are cleared don't give way": {request(v1alpha1.VerbResize), v1alpha1.VerbClearAlarms, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			active := &v1alpha1.Operation{Spec: request(c.active)}
			active.Status.Phase, active.Status.Journal = c.phase, []v1alpha1.JournalEntry{{Step: "begin"}}
			if got := Verbs().Supersedes(c.asked, active); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
