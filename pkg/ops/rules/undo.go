package rules

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// Undoing is the way back from what was done to a cluster last.
type Undoing struct {
	// Of is the record of what is taken back; nil if that is a pause, which leaves none.
	Of *v1alpha1.Operation
	// Operation is the request that takes it back. It goes its way like any other.
	Operation v1alpha1.OperationSpec
	// Title says what it comes to, as a sentence without a full stop; Lost what that costs, Kept what there is to go back
	// to afterwards, and Stays what does not come back by it, one line each.
	Title             string
	Lost, Kept, Stays []string
	// TakesBackup: the way back begins with a safety backup.
	TakesBackup bool
}

// Unrecorded refuses to guess.
func (u *Undoing) Unrecorded(what string) error {
	return NoUndo(u.Of.Spec.Cluster, fmt.Sprintf(
		"the record of %s (%s) does not say %s: a tool that did not write it down yet made it",
		u.Of.Spec.Verb, u.Of.Name, what), "")
}

// Idle refuses to take back what found the cluster as it was to be.
func (u *Undoing) Idle() error {
	return NoUndo(u.Of.Spec.Cluster, fmt.Sprintf("%s (%s) found %s as it was to be, so there is nothing to take back",
		u.Of.Spec.Verb, u.Of.Name, u.Of.Spec.Cluster), "")
}

// Unchanged refuses to take back what changed nothing.
func (u *Undoing) Unchanged() error {
	return NoUndo(u.Of.Spec.Cluster, string(u.Of.Spec.Verb)+" changed nothing that could be taken back", "")
}

// Resized asks for the former number of members, which was accepted once already. Data never comes back by it: a
// member that joins gets a copy of what the others have.
func (u *Undoing) Resized() error {
	of := u.Of.Spec
	if of.FromMembers == 0 || of.Members == 0 {
		return u.Unrecorded("how many members there were")
	}
	u.Operation.Members, u.Operation.Waive = of.FromMembers, []string{"size"}
	return nil
}

// NoUndo is the refusal, with the next thing to type.
func NoUndo(cluster, reason, hint string) *ops.Error {
	if hint == "" {
		hint = "kubectl dbop history " + cluster +
			" shows what was done; the change that leads back is a command of its own"
	}
	return &ops.Error{Kind: ops.Refused, Check: "undo", Message: reason, Hint: hint}
}
