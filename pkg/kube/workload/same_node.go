package workload

import (
	"crypto/sha256"
	"encoding/hex"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// mostLabel is how long the value of a label may be.
const mostLabel = 63

// SameNode has a pod run on the node of the other pods that mount a claim which one node alone can mount: on another
// node it would wait for the volume as long as they run. The first of them runs anywhere, as Kubernetes lets a pod be
// beside itself.
func SameNode(pod *metav1.ObjectMeta, spec *corev1.PodSpec, claim string) {
	value := claim
	if len(value) > mostLabel {
		sum := sha256.Sum256([]byte(claim))
		value = hex.EncodeToString(sum[:16])
	}
	metav1.SetMetaDataLabel(pod, v1alpha1.LabelClaim, value)
	spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: corev1.LabelHostname,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{v1alpha1.LabelClaim: value}}}}}}
}
