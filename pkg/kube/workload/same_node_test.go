package workload

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// TestSameNode: a pod is beside those with its own label, so the first one has a node, too.
func TestSameNode(t *testing.T) {
	t.Parallel()
	values := map[string]bool{}
	for _, claim := range []string{"backups", strings.Repeat("a", 253), strings.Repeat("a", 252) + "b"} {
		var meta metav1.ObjectMeta
		var spec corev1.PodSpec
		SameNode(&meta, &spec, claim)
		value := meta.Labels[v1alpha1.LabelClaim]
		term := spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0]
		if value == "" || len(value) > mostLabel || term.LabelSelector.MatchLabels[v1alpha1.LabelClaim] != value ||
			term.TopologyKey != corev1.LabelHostname {
			t.Errorf("claim %s: label %q, term %+v", claim, value, term)
		}
		values[value] = true
	}
	if len(values) != 3 {
		t.Errorf("claims share labels: %v", values)
	}
}
