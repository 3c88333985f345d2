package engine

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// TemplateReader is what an engine also is if its templates name the peers
// that a member was rendered with.
type TemplateReader interface {
	// TemplatePeers returns the peers, in the order of the template; nil if it names none.
	TemplatePeers(c *v1alpha1.DatabaseCluster, template corev1.PodTemplateSpec) []string
}

// JoinLimiter is what an engine also is if each member is told how many may be joining side by side.
type JoinLimiter interface {
	// InitialJoinLimit is what the members of a new cluster of that version are told; 0 if they can't be told anything.
	InitialJoinLimit(version string) int
	// JoinLimit reads from the pod of a member what it is told; 1 if it is told nothing, and 0 if a member of that version
	// can't be told anything.
	JoinLimit(version string, pod corev1.PodSpec) int
}
