package operation

import (
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// AddMember adds one member.
type AddMember struct{ sized }

// Traits implements rules.Operation.
func (AddMember) Traits() rules.Traits {
	return rules.Traits{Starts: true, Restarts: true, NeedsSpace: true}
}

// Manners implements rules.Operation.
func (AddMember) Manners() ops.Manners { return ops.Manners{StepsBack: ops.Anytime} }

// Default implements rules.Operation.
func (AddMember) Default(o *v1alpha1.OperationSpec, c *v1alpha1.DatabaseCluster) {
	if o.Members == 0 {
		o.Members = c.Spec.Members + 1
	}
}

// Check implements rules.Operation.
func (AddMember) Check(e engine.Engine, o v1alpha1.OperationSpec, _, _ *v1alpha1.DatabaseCluster) error {
	return checkSize(e, o.Members, true)
}

// Undo implements rules.Operation.
func (AddMember) Undo(u *rules.Undoing) error {
	if err := u.Resized(); err != nil {
		return err
	}
	added := joined(u.Of)
	if added == "" {
		return u.Unrecorded("which member joined")
	}
	u.Operation.Verb, u.Operation.Member, u.Operation.Members = v1alpha1.VerbRemoveMember, added, 0
	u.Title, u.Lost = "remove "+added, []string{"the volume of " + added}
	return nil
}

// joined is the member that an operation added last, as its journal says.
func joined(op *v1alpha1.Operation) string {
	name := ""
	for _, e := range op.Status.Journal {
		if member, ok := strings.CutPrefix(e.Step, string(ops.ActionRegister)+"/"); ok {
			name = member
		}
	}
	return name
}
