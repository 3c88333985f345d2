package ops

import "slices"

// unused are the members whose volumes hold nothing: the cluster never formed,
// and no member of it ever ran. nil if that is not certain of every volume.
func (s State) unused() []string {
	if !unformed(s.Cluster) || len(s.View.ClusterIDs) > 0 {
		return nil
	}
	var out []string
	for _, m := range s.Kube.Members {
		if !s.ours(m) || !m.Volume.Exists && !m.Workload.Exists {
			continue
		}
		if !m.Unused {
			return nil
		}
		if m.Volume.Exists && m.Volume.Token == s.formation().Token {
			out = append(out, m.Name)
		}
	}
	return out
}

// dropped are the members whose volumes the deletion in flight deletes.
func (p planner) dropped() []string {
	o := p.s.Operation.Spec
	var out []string
	for _, m := range p.s.Kube.Members {
		if m.Volume.Exists && p.s.ours(m) && (o.Purge || slices.Contains(o.Unused, m.Name)) {
			out = append(out, m.Name)
		}
	}
	return out
}
