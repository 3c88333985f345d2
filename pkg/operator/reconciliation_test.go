package operator

import (
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// TestSettledAfterTheWholeEdit: an edit of which one part counts at once and another takes an operation is not told as
// settled in between.
func TestSettledAfterTheWholeEdit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := founded(t)
		b.edit(func(s *v1alpha1.DatabaseClusterSpec) { s.Members, s.Registry = 5, "mirror.example" })
		for b.verbs() == "create Succeeded" {
			b.once()
			c := b.get()
			settled := meta.IsStatusConditionFalse(c.Status.Conditions, conditionReconciling)
			if settled && c.Status.ObservedGeneration == c.Generation {
				t.Fatalf("settled as generation %d after %s", c.Generation, b.verbs())
			}
		}
		b.settle(idleEvery)
		b.is("True Healthy", "False Settled", "False NotStalled")
		if got := b.record().Spec.Registry; got != "mirror.example" {
			t.Errorf("the registry is %q", got)
		}
	})
}
