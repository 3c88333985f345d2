package operator

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

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

// TestAskedForWhileItWaits: what a person asks for does not wait until the operator tries again what an edit asks for
// and can't be.
func TestAskedForWhileItWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := founded(t)
		b.edit(func(s *v1alpha1.DatabaseClusterSpec) { s.TLS.Disabled = !s.TLS.Disabled })
		for range 10 {
			time.Sleep(b.once())
		}
		b.is("Unknown NotAsWanted", "False Settled", "True Tls")
		if again := b.once(); again < time.Minute {
			t.Fatalf("it tries again after %s", again)
		}
		asked := &v1alpha1.Operation{Spec: v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbRestart},
			Status: v1alpha1.OperationStatus{Phase: v1alpha1.PhaseRunning}}
		asked.Namespace = b.key.Namespace
		if err := b.store.CreateOperation(t.Context(), asked); err != nil {
			t.Fatal(err)
		}
		for range 200 {
			if !strings.Contains(b.verbs(), "restart Running") {
				break
			}
			if again := b.once(); again > lookPause {
				t.Fatalf("it waits for %s before what was asked for: %s", again, b.verbs())
			}
			time.Sleep(time.Second)
		}
		if got := b.verbs(); !strings.Contains(got, "restart Succeeded") {
			t.Error(got)
		}
	})
}
