package pod

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Peers reads from a template whom the member was told of: the names in --initial-cluster.
func Peers(template corev1.PodTemplateSpec) []string {
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
