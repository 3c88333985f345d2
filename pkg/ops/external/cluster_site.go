package external

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// disruption checks whether evictions by others leave a majority.
func (s *inspection) disruption() {
	if len(s.pods) < 2 || len(s.outside.Pods) == 0 {
		return
	}
	f := ops.Finding{Severity: ops.OK, Subject: "disruption budget", What: strings.Join(s.outside.Budgets, ", ") +
		" covers all members"}
	switch {
	case s.outside.BudgetsUnknown != "":
		f.Severity, f.What, f.Evidence = ops.Warn, "budgets can't be read", []string{s.outside.BudgetsUnknown}
	case len(s.outside.Budgets) == 0:
		f.Severity, f.What = ops.Warn, "there is none: draining nodes may take the quorum"
		if !s.engine.Capabilities().Quorum {
			f.What = "there is none: draining nodes may take all members at once"
		}
	}
	s.add(f)
}

// spread checks whether the loss of one node takes the quorum, and whether
// anything keeps it so.
func (s *inspection) spread() {
	on, loose := map[string][]string{}, []string{}
	for _, name := range slices.Sorted(maps.Keys(s.pods)) {
		pod := s.pods[name]
		if pod.Node != "" {
			on[pod.Node] = append(on[pod.Node], name)
		}
		if pod.Name != "" && !pod.Spread {
			loose = append(loose, name)
		}
	}
	if len(s.pods) < 2 || len(on) == 0 {
		return
	}
	voters := max(len(s.view.Voters()), len(s.pods))
	for _, node := range slices.Sorted(maps.Keys(on)) {
		n := len(on[node])
		if n == voters || s.engine.Capabilities().Quorum && voters-n < ops.Majority(voters) {
			s.add(ops.Finding{Severity: ops.Warn, Subject: "nodes",
				What:     fmt.Sprintf("%d of %d members run on node %s: its loss stops the database", n, voters, node),
				Evidence: []string{node + " runs " + strings.Join(on[node], ", ")}})
		}
	}
	if len(loose) > 0 {
		s.add(ops.Finding{Severity: ops.Warn, Subject: "anti-affinity", What: "nothing keeps members on different nodes",
			Evidence: []string{strings.Join(loose, ", ")}})
	}
}

// volumes searches for members whose data goes with their pod.
func (s *inspection) volumes() {
	var fleeting []string
	for _, name := range slices.Sorted(maps.Keys(s.pods)) {
		pod := s.pods[name]
		lasting := false
		for _, v := range pod.Spec.Volumes {
			lasting = lasting || v.PersistentVolumeClaim != nil || v.HostPath != nil
		}
		if pod.Name != "" && !lasting {
			fleeting = append(fleeting, name)
		}
	}
	if len(fleeting) > 0 {
		s.add(ops.Finding{Severity: ops.Fail, Subject: "volumes",
			What:     "no persistent volume holds the data: it goes with the pod",
			Evidence: []string{strings.Join(fleeting, ", ")},
			Remedy:   []string{"take a backup now, and restore it into a cluster with volumes"}})
	}
}
