package operator

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// TestRecordThatCantBeUsed: where members live and their record was deleted or
// damaged, the operator founds nothing, and names the command that mends it.
func TestRecordThatCantBeUsed(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*bench, *corev1.ConfigMap) error{
		"deleted": func(b *bench, m *corev1.ConfigMap) error {
			b.world.facts = kube.Facts{Remains: []string{"statefulset/db-1"}}
			return b.api.Delete(b.t.Context(), m)
		},
		"empty": func(b *bench, m *corev1.ConfigMap) error {
			m.Data["cluster.json"] = "{}"
			return b.api.Update(b.t.Context(), m)
		},
		"without labels": func(b *bench, m *corev1.ConfigMap) error {
			m.Labels = nil
			return b.api.Update(b.t.Context(), m)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := founded(t)
				m := &corev1.ConfigMap{}
				if err := b.api.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "db.dbop"}, m); err != nil {
					t.Fatal(err)
				}
				if err := spoil(b, m); err != nil {
					t.Fatal(err)
				}
				steps := len(b.world.steps)
				for range 10 {
					time.Sleep(b.once())
				}
				if stalled := b.message(conditionStalled); !strings.Contains(stalled, "kubectl dbop") || !strings.Contains(stalled, "repair db") {
					t.Errorf("it says %q", stalled)
				}
				if len(b.world.steps) != steps || b.verbs() != "create Succeeded" {
					t.Errorf("it did %v; operations %s", b.world.steps[steps:], b.verbs())
				}
			})
		})
	}
}
