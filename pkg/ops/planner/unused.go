package planner

import (
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// unused are the members whose volumes hold nothing: the cluster never formed,
// and no member of it ever ran. nil if that is not certain of every volume.
func unused(s ops.State) []string {
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
		if m.Volume.Exists && m.Volume.Token == s.Formation().Token {
			out = append(out, m.Name)
		}
	}
	return out
}

// dropped are the members whose volumes the deletion in flight deletes.
func (p Planner) dropped() []string {
	o := p.S.Operation.Spec
	var out []string
	for _, m := range p.S.Kube.Members {
		if m.Volume.Exists && p.S.Ours(m) && (o.Purge || slices.Contains(o.Unused, m.Name)) {
			out = append(out, m.Name)
		}
	}
	return out
}
