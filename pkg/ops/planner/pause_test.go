package planner

import (
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

func TestNobodyActsOnAPausedCluster(t *testing.T) {
	t.Parallel()
	for _, fresh := range []bool{true, false} {
		for _, verb := range []v1alpha1.Verb{v1alpha1.VerbScale, v1alpha1.VerbRestart, v1alpha1.VerbDelete} {
			s := opstest.Doing(opstest.Well(3), opstest.Operation(verb), fresh)
			s.Cluster.Spec.Paused, s.Cluster.Spec.Members = true, 5
			judge(t, opstest.Stub{}, s, nil, "db is paused: a person asked that nobody acts on it")
		}
	}
}

func TestWhoPaused(t *testing.T) {
	t.Parallel()
	s := opstest.Doing(opstest.Well(3), opstest.Operation(v1alpha1.VerbRestart), true)
	s.Cluster.Spec.Paused, s.Cluster.Status.Pause = true,
		&v1alpha1.Pause{By: "ada", From: "laptop", At: ops.Stamp(opstest.Now())}
	judge(t, opstest.Stub{}, s, nil, "db is paused: ada@laptop, at "+ops.Moment(opstest.Now())+
		", asked that nobody acts on it")
}
