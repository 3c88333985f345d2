package operation

import (
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/operation/users"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// Create makes a cluster that is empty. All its members start together, by the standing rules.
type Create struct{ rules.Plain }

// Traits implements rules.Operation.
func (Create) Traits() rules.Traits {
	return rules.Traits{Unformed: true, Passwords: true, NoWayBack: true, Schedule: rules.ScheduleMade}
}

// Manners implements rules.Operation.
func (Create) Manners() ops.Manners {
	return ops.Manners{
		Bootstraps: func(v1alpha1.OperationSpec) bool { return true },
	}
}

// Check implements rules.Operation.
func (Create) Check(e engine.Engine, o v1alpha1.OperationSpec, c, wanted *v1alpha1.DatabaseCluster) error {
	if c.Spec.Auth.Enabled {
		if err := users.CheckLogin(e); err != nil {
			return err
		}
		if err := users.CheckNames(e, c.Spec.Auth.Users); err != nil {
			return err
		}
	}
	return checkNew(e, o, c, wanted)
}

// checkNew judges a cluster that is to be made, empty or from a backup.
func checkNew(e engine.Engine, o v1alpha1.OperationSpec, c, wanted *v1alpha1.DatabaseCluster) error {
	if err := users.CheckRootPassword(o, c); err != nil || wanted == nil {
		return err
	}
	if err := checkSource(e, wanted); err != nil {
		return err
	}
	if err := checkInitialSQL(e, wanted); err != nil {
		return err
	}
	if err := rules.CheckRouting(e, wanted.Spec); err != nil {
		return err
	}
	if url := wanted.Spec.Backup.Repository; url != "" {
		if _, err := ops.ParseRepository(url); err != nil {
			return err
		}
	}
	if err := checkPolicy(e, wanted, wanted.Spec.Backup); err != nil {
		return err
	}
	if err := ops.CheckAmounts(wanted.Spec); err != nil {
		return err
	}
	return e.CheckCreate(wanted.Spec, slices.Contains(o.Waive, "size"))
}

// Steps implements rules.Operation.
func (Create) Steps() rules.Steps {
	return rules.Steps{Running: func(p rules.Situation) *ops.Decision {
		if !p.S.Cluster.Spec.Auth.Enabled {
			return nil
		}
		if p.Fresh() && p.S.View.Auth() == engine.AuthOn && !p.S.Bootstrap().Unfinished {
			return nil // created by an earlier operation, which proved it
		}
		if d := users.Authenticate(p); d != nil {
			return d
		}
		return runInitialSQL(p)
	}}
}

// Undo implements rules.Operation.
func (Create) Undo(u *rules.Undoing) error {
	name := u.Of.Spec.Cluster
	return rules.NoUndo(name, name+" was created, and to take that back is to delete it", "")
}
