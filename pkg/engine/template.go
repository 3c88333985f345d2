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
