package operation

import (
	"fmt"
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// sized is what the verbs share that change the number of members. Members join and leave by the standing rules.
type sized struct{ rules.Plain }

// ApplyTo implements rules.Operation.
func (sized) ApplyTo(spec *v1alpha1.DatabaseClusterSpec, o v1alpha1.OperationSpec, back bool) {
	spec.Members = o.Members
	if back {
		spec.Members = o.FromMembers
	}
}

// Scale sets the number of members.
type Scale struct{ sized }

// Traits implements rules.Operation.
func (Scale) Traits() rules.Traits {
	return rules.Traits{Starts: true, Restarts: true, NeedsSpace: true}
}

// Manners implements rules.Operation.
func (Scale) Manners() ops.Manners {
	return ops.Manners{StepsBack: ops.Anytime,
		Same: func(have, asked v1alpha1.OperationSpec) bool { return have.Members == asked.Members },
	}
}

// Check implements rules.Operation.
func (Scale) Check(e engine.Engine, o v1alpha1.OperationSpec, _, _ *v1alpha1.DatabaseCluster) error {
	return checkSize(e, o.Members, slices.Contains(o.Waive, "size"))
}

// Undo implements rules.Operation.
func (Scale) Undo(u *rules.Undoing) error {
	if err := u.Resized(); err != nil {
		return err
	}
	of := u.Of.Spec
	u.Operation.Verb = v1alpha1.VerbScale
	u.Title = fmt.Sprintf("scale from %d members back to %d", of.Members, of.FromMembers)
	if of.FromMembers < of.Members {
		u.Lost = []string{"the volumes of the members that leave"}
	} else {
		u.Stays = []string{"the volumes of the members that left: new ones start with a copy of the others' data"}
	}
	return nil
}

// checkSize asks the engine about nothing but the size.
func checkSize(e engine.Engine, members int32, force bool) error {
	caps := e.Capabilities()
	if members < 1 {
		return &engine.Refusal{Check: "size", Reason: "a cluster needs at least one member",
			Hint: "choose 1 or more; kubectl dbop stop stops all members and keeps their volumes"}
	}
	if int(members) > caps.MaxMembers {
		return &engine.Refusal{Check: "size", Reason: fmt.Sprintf("%d members are too many: "+
			"each write waits for a majority, and beyond %d nothing is gained", members, caps.MaxMembers),
			Hint: fmt.Sprintf("choose at most %d", caps.MaxMembers)}
	}
	if caps.OddMembers && members%2 == 0 && !force {
		return &engine.Refusal{Check: "size",
			Reason: fmt.Sprintf("%d members tolerate no more failures than %d, and one more can fail", members, members-1),
			Hint:   fmt.Sprintf("choose %d or %d, or insist with --force", members-1, members+1)}
	}
	return nil
}
