package planner

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// Request is what a person or a manifest asks for: the operation, and for
// create the cluster that is to be.
type Request struct {
	Operation v1alpha1.OperationSpec
	// Cluster is the wanted cluster of create and of restore into a new one;
	// nil for everything else.
	Cluster *v1alpha1.DatabaseCluster
	// Import is set for an observation of a restore whose backup is not in the
	// repository yet: the step that brings it there before the operation.
	Import *ops.Step
}

// ApplyTo writes the wanted values of an operation into the cluster, or, when it is being cancelled, those from
// before. A repeat changes nothing. It reports whether anything changed.
func ApplyTo(c *v1alpha1.DatabaseCluster, op *v1alpha1.Operation) bool {
	before := c.Spec.DeepCopy()
	OperationOf(op.Spec.Verb).ApplyTo(&c.Spec, op.Spec, op.Status.Phase == v1alpha1.PhaseCancelling)
	return !equality.Semantic.DeepEqual(before, &c.Spec)
}

// Default fills in what a request takes from the cluster as it is recorded.
func Default(o *v1alpha1.OperationSpec, c *v1alpha1.DatabaseCluster) {
	o.FromMembers, o.FromVersion, o.FromImage = c.Spec.Members, c.Spec.Version, c.Spec.Image
	OperationOf(o.Verb).Default(o, c)
}

// Check judges what only the request and the wanted state can show, before anything is observed.
func Check(e engine.Engine, r Request, c *v1alpha1.DatabaseCluster) error {
	operation := OperationOf(r.Operation.Verb)
	if f := c.Status.Bootstrap; !operation.Traits().Unformed && (f == nil || f.ClusterID == "") {
		// The initial members start with the arguments that were written down, and with no others.
		return &engine.Refusal{Check: "not-formed", Reason: fmt.Sprintf("%s was started and has not formed yet", c.Name),
			Hint: fmt.Sprintf("repeat the command that created it, with other options if need be; kubectl dbop history %s "+
				"shows it", c.Name)}
	}
	return operation.Check(e, r.Operation, c, r.Cluster)
}

// Resolve writes into a request what only the running cluster shows, and what the operation itself is about to change.
func Resolve(e engine.Engine, o *v1alpha1.OperationSpec, s ops.State) error {
	return OperationOf(o.Verb).Resolve(e, o, s)
}
