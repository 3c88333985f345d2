package rules

import (
	"cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
)

// specAdvice says which fields of a custom resource to correct where a member
// can't start; "" for a cluster without one, and where no field helps.
func (p Situation) specAdvice(member string, problem observe.ProblemKind) string {
	s := p.S
	if s.Cluster.Annotations[v1alpha1.AnnotationCustom] == "" {
		return ""
	}
	var advice string
	switch problem {
	case observe.ProblemImage:
		advice = "correct spec.image, spec.version or spec.registry"
	case observe.ProblemUnschedulable:
		advice = "make room on the nodes, or correct spec.resources or spec.antiAffinity; " +
			cmp.Or(health.Describe(s, member), "kubectl dbop status "+s.Cluster.Name) + " shows why"
	case observe.ProblemDisk:
		if !s.Formed() {
			return p.Verbs.MoreSpace(s)
		}
		advice = "raise spec.storage.size"
	case observe.ProblemCrashing, observe.ProblemOOM, observe.ProblemConfig:
		advice = "correct spec.config, spec.resources, spec.image or spec.version; kubectl dbop logs " + s.Cluster.Name +
			" shows why"
	default:
		return ""
	}
	if ops.Unformed(s.Cluster) {
		advice += "; or delete the object: kubectl delete dbc " + s.Cluster.Name
		if Unused(s) == nil {
			advice += " (its volumes stay, unless spec.deletionPolicy is Purge)"
		}
	}
	return advice
}
