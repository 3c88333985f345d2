package planner

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// Undo finds the request that takes back what was done to a cluster last, by
// its records, the newest first. It is pure. Where no way back is known, or the
// cluster is not any more what that operation left, it says why and what to
// type instead. Going back is offered once: a person who repeats a command that
// came to its end must not get the contrary.
func Undo(c *v1alpha1.DatabaseCluster, records []v1alpha1.Operation) (*rules.Undoing, error) {
	last := lastChange(c, records)
	if last != nil && last.Active() {
		return undoInFlight(c, last, records)
	}
	if c.Spec.Paused {
		return &rules.Undoing{Title: "let " + c.Name + " be acted on again"}, nil
	}
	if last == nil {
		return nil, rules.NoUndo(c.Name, "nothing is recorded that was done to "+c.Name, "")
	}
	if of := last.Spec.Undoes; of != "" {
		return nil, rules.NoUndo(c.Name,
			fmt.Sprintf("the last operation (%s) took back another (%s) already", last.Name, of),
			"")
	}
	u := &rules.Undoing{Of: last, Operation: v1alpha1.OperationSpec{Cluster: c.Name, Undoes: last.Name}}
	if err := OperationOf(last.Spec.Verb).Undo(u); err != nil {
		return nil, err
	}
	// What an operation wanted must be wanted still: something that leaves no
	// record, such as a hand in the record itself, may have come after it.
	if ApplyTo(c.DeepCopy(), last) {
		return nil, rules.NoUndo(c.Name, fmt.Sprintf("%s is not any more what %s (%s) left", c.Name, last.Spec.Verb,
			last.Name), "")
	}
	return u, nil
}

// lastChange is the newest record of what changed the cluster, or is about to;
// nil if there is none. What was cancelled or failed left nothing, and backups
// change nothing. Records of an earlier cluster of that name don't count.
func lastChange(c *v1alpha1.DatabaseCluster, records []v1alpha1.Operation) *v1alpha1.Operation {
	for i := range records {
		o := &records[i]
		switch {
		case OperationOf(o.Spec.Verb).Traits().OnlyReads:
			continue
		case o.Active():
			return o
		case o.CreationTimestamp.Before(&c.CreationTimestamp):
			return nil
		case o.Status.Phase != v1alpha1.PhaseSucceeded:
			continue
		}
		return o
	}
	return nil
}

// undoInFlight continues an undoing; anything else in flight is stepped back
// from by another command.
func undoInFlight(c *v1alpha1.DatabaseCluster, op *v1alpha1.Operation, records []v1alpha1.Operation) (*rules.Undoing,
	error) {
	if op.Spec.Undoes == "" {
		return nil, &ops.Error{Kind: ops.Busy, Check: "operation", Hint: Verbs().InFlight(op, c).Hint,
			Message: fmt.Sprintf("%s (%s) of %s is not finished", op.Spec.Verb, op.Name, op.Spec.Cluster)}
	}
	u := &rules.Undoing{Operation: op.Spec, Title: fmt.Sprintf("go on taking %s back", op.Spec.Undoes)}
	for i := range records {
		if records[i].Name == op.Spec.Undoes {
			u.Of = &records[i]
			return u, nil
		}
	}
	return nil, &ops.Error{Kind: ops.Failed,
		Message: fmt.Sprintf("%s takes back %s, of which the record is gone", op.Name,
			op.Spec.Undoes),
		Hint: "kubectl dbop resume " + op.Spec.Cluster}
}
