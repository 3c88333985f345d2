package operator

import (
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// TestMissingClaim: a repository in a claim that does not exist is told, and
// the record keeps the former one until the claim is there.
func TestMissingClaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := founded(t)
		b.edit(func(s *v1alpha1.DatabaseClusterSpec) { s.Backup.Repository = "pvc:nope" })
		b.settle(lastDelay)
		b.is("Unknown NotAsWanted", "False Settled", "True Claim")
		if m := b.message(conditionStalled); !strings.Contains(m, "no persistentvolumeclaim nope") ||
			b.record().Spec.Backup.Repository != "" {
			t.Errorf("it says %q, and the record names %q", m, b.record().Spec.Backup.Repository)
		}
		claim := &corev1.PersistentVolumeClaim{}
		claim.Namespace, claim.Name = b.key.Namespace, "nope"
		if err := b.api.Create(t.Context(), claim); err != nil {
			t.Fatal(err)
		}
		b.settle(idleEvery)
		b.is("True Healthy", "False Settled", "False NotStalled")
		if got := b.record().Spec.Backup.Repository; got != "pvc:nope" {
			t.Errorf("the record names %q", got)
		}
	})
}
