package health

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// verbs lets cancel step back from every operation but a creation and a deletion.
func verbs(verb v1alpha1.Verb) ops.Manners {
	switch verb {
	case v1alpha1.VerbCreate:
		return ops.Manners{Bootstraps: func(v1alpha1.OperationSpec) bool { return true }}
	case v1alpha1.VerbRemoveMember:
		return ops.Manners{Removes: true}
	case v1alpha1.VerbReplaceMember:
		return ops.Manners{Replaces: true}
	case v1alpha1.VerbDelete:
		return ops.Manners{Ends: true}
	}
	return ops.Manners{StepsBack: ops.Anytime}
}
