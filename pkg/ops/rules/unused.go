package rules

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// Unused are the members whose volumes hold nothing: the cluster never formed,
// and no member of it ever ran. nil if that is not certain of every volume.
func Unused(s ops.State) []string {
	if !ops.Unformed(s.Cluster) || len(s.View.ClusterIDs) > 0 {
		return nil
	}
	var out []string
	for _, m := range s.Kube.Members {
		if !s.Ours(m) || !m.Volume.Exists && !m.Workload.Exists {
			continue
		}
		if !m.Unused {
			return nil
		}
		if m.Volume.Exists && m.Volume.Token == s.Bootstrap().Token {
			out = append(out, m.Name)
		}
	}
	return out
}
