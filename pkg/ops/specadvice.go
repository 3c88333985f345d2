package ops

import (
	"cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// specAdvice says which fields of a custom resource to correct where a member
// can't start; "" for a cluster without one, and where no field helps.
func (s State) specAdvice(member string, problem kube.ProblemKind) string {
	if s.Cluster.Annotations[v1alpha1.AnnotationCustom] == "" {
		return ""
	}
	var advice string
	switch problem {
	case kube.ProblemImage:
		advice = "correct spec.image, spec.version or spec.registry"
	case kube.ProblemUnschedulable:
		advice = "make room on the nodes, or correct spec.resources or spec.antiAffinity; " + cmp.Or(s.describe(member), "kubectl dbop status "+s.Cluster.Name) + " shows why"
	case kube.ProblemDisk:
		if !s.formed() {
			return s.moreSpace()
		}
		advice = "raise spec.storage.size"
	case kube.ProblemCrashing, kube.ProblemOOM, kube.ProblemConfig:
		advice = "correct spec.config, spec.resources, spec.image or spec.version; kubectl dbop logs " + s.Cluster.Name + " shows why"
	default:
		return ""
	}
	if unformed(s.Cluster) {
		advice += "; or delete the object: kubectl delete dbc " + s.Cluster.Name
		if s.unused() == nil {
			advice += " (its volumes stay, unless spec.deletionPolicy is Purge)"
		}
	}
	return advice
}
