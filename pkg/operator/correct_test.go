package operator

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// TestCorrectWhileFounding: a custom resource that stalled because its image
// can't be pulled is corrected, and its cluster forms.
func TestCorrectWhileFounding(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.custom(func(c *v1alpha1.DatabaseCluster) { c.Spec.Image = "bad" })
		b.settle(lastDelay)
		b.is("False Down", "False Settled", "True ImagePull")
		if m := b.message(conditionStalled); !strings.Contains(m, "can't pull bad; correct spec.image") ||
			strings.Contains(m, "--") {
			t.Errorf("it says %q", m)
		}
		b.edit(func(s *v1alpha1.DatabaseClusterSpec) { s.Image = "good" })
		corrected := time.Now()
		b.settle(idleEvery)
		b.is("True Healthy", "False Settled", "False NotStalled")
		if took := time.Since(corrected); took > time.Minute {
			t.Errorf("it took %s to follow", took)
		}
		if got := b.verbs(); got != "create Succeeded" || b.record().Spec.Image != "good" {
			t.Errorf("%s, image %s", got, b.record().Spec.Image)
		}
	})
}

// TestMakeAgainAfterStall: a custom resource that never formed is deleted with
// the policy that it was given last, and its name is free.
func TestMakeAgainAfterStall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.custom(func(c *v1alpha1.DatabaseCluster) { c.Spec.Image = "bad" })
		b.settle(lastDelay)
		b.edit(func(s *v1alpha1.DatabaseClusterSpec) { s.DeletionPolicy = v1alpha1.DeletionPurge })
		b.settle(lastDelay)
		b.delete()
		for range 100 {
			again := b.once()
			if b.record() == nil && again == 0 {
				break
			}
			time.Sleep(again)
		}
		if b.record() != nil || !slices.Contains(b.world.steps, "delete-volumes") {
			t.Fatalf("after %s: %v", b.verbs(), b.world.steps)
		}
		b.again("two", func(c *v1alpha1.DatabaseCluster) { c.Spec.Image = "good" })
		b.settle(idleEvery)
		b.is("True Healthy", "False Settled", "False NotStalled")
	})
}
