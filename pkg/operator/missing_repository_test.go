package operator

import (
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// TestMissingRepository: a repository that is not there is told, and the record keeps the former one until it is.
func TestMissingRepository(t *testing.T) {
	t.Parallel()
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "shop", Name: name} }
	for repository, c := range map[string]struct {
		reason, says string
		missing      client.Object
	}{
		"pvc:nope": {"Claim", "no persistentvolumeclaim nope",
			&corev1.PersistentVolumeClaim{ObjectMeta: named("nope")}},
		"offsite": {"Repository", "repository add offsite",
			&corev1.ConfigMap{ObjectMeta: named(v1alpha1.Repository("offsite"))}},
	} {
		t.Run(repository, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := founded(t)
				b.edit(func(s *v1alpha1.DatabaseClusterSpec) { s.Backup.Repository = repository })
				b.settle(lastDelay)
				b.is("Unknown NotAsWanted", "False Settled", "True "+c.reason)
				if m := b.message(conditionStalled); !strings.Contains(m, c.says) ||
					b.record().Spec.Backup.Repository != "" {
					t.Errorf("it says %q, and the record names %q", m, b.record().Spec.Backup.Repository)
				}
				if err := b.api.Create(t.Context(), c.missing); err != nil {
					t.Fatal(err)
				}
				b.settle(idleEvery)
				b.is("True Healthy", "False Settled", "False NotStalled")
				if got := b.record().Spec.Backup.Repository; got != repository {
					t.Errorf("the record names %q", got)
				}
			})
		})
	}
}
