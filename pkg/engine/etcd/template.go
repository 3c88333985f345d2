package etcd

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

var _ engine.TemplateReader = (*Engine)(nil)

// TemplatePeers implements engine.TemplateReader: the names in --initial-cluster.
func (*Engine) TemplatePeers(_ *v1alpha1.DatabaseCluster, template corev1.PodTemplateSpec) []string {
	var out []string
	for _, c := range template.Spec.Containers {
		for _, arg := range c.Args {
			peers, ok := strings.CutPrefix(arg, "--initial-cluster=")
			if c.Name != containerName || !ok {
				continue
			}
			for peer := range strings.SplitSeq(peers, ",") {
				name, _, _ := strings.Cut(peer, "=")
				out = append(out, name)
			}
		}
	}
	return out
}
