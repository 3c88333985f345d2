package observe

import (
	appsv1 "k8s.io/api/apps/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/drift"
)

// archiveFacts reads what archives the log. An image that somebody else wrote into it is none that this tool chose.
func archiveFacts(w *appsv1.StatefulSet) Workload {
	f := workloadFacts(w)
	owners := drift.OwnersOf(w.ManagedFields)
	if c := w.Spec.Template.Spec.Containers; owners.Known && len(c) > 0 && !owners.Owns(drift.Path{"spec", "template",
		"spec", "containers", "[" + c[0].Name + "]", "image"}) {
		f.Image = ""
	}
	return f
}

// archiveDifferences compares what archives the log with what this tool renders. It is pure.
func (s *snapshot) archiveDifferences(c *v1alpha1.DatabaseCluster, f Facts, made Rendered) []drift.Difference {
	if made.Archive == nil || founding(c) {
		return nil
	}
	want := made.Archive(f)
	if want == nil {
		return nil
	}
	have := s.workload(want.Name)
	if have == nil {
		return []drift.Difference{drift.MissingObject("StatefulSet", want.Name, "")}
	}
	return drift.ComparisonOf(want).Of("StatefulSet", want.Name, "").Differences(want, have)
}
