package operation

import (
	"fmt"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/backups"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/operation/users"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// Restore makes a cluster from a backup, or replaces the data of one in place.
type Restore struct{ rules.Plain }

// Traits implements rules.Operation.
func (Restore) Traits() rules.Traits {
	return rules.Traits{Unformed: true, Starts: true, Restarts: true, NoWayBack: true, Schedule: rules.ScheduleMade}
}

// Manners implements rules.Operation.
func (Restore) Manners() ops.Manners {
	return ops.Manners{
		NewData:    true,
		Bootstraps: func(o v1alpha1.OperationSpec) bool { return !o.InPlace },
		// What the cluster was before is there to go back to.
		StepsBack: func(op *v1alpha1.Operation) bool {
			from := op.Spec.FromIncarnation
			return from != nil && from.Bootstrap.ClusterID != ""
		},
		Same: func(have, asked v1alpha1.OperationSpec) bool {
			return have.InPlace == asked.InPlace && have.Undoes == asked.Undoes &&
				(have.Source == nil) == (asked.Source == nil) && (have.Source == nil || *have.Source == *asked.Source)
		},
	}
}

// Default implements rules.Operation.
func (Restore) Default(o *v1alpha1.OperationSpec, c *v1alpha1.DatabaseCluster) {
	if o.InPlace {
		o.FromIncarnation = ops.IncarnationOf(c)
	}
}

// Check implements rules.Operation.
func (Restore) Check(e engine.Engine, o v1alpha1.OperationSpec, c, wanted *v1alpha1.DatabaseCluster) error {
	if _, counts := e.(engine.CompactionRules); o.KeepRevision && !counts {
		return &engine.Refusal{Check: "history", Reason: "a database of " + e.Name() + " has no revision to keep",
			Hint: "leave --keep-revision out"}
	}
	if err := checkRestored(o, c); err != nil {
		return err
	}
	return checkNew(e, o, c, wanted)
}

// Steps implements rules.Operation.
func (Restore) Steps() rules.Steps {
	return rules.Steps{First: restoreInPlace, Running: func(p rules.Situation) *ops.Decision {
		// What a restored cluster brings along, or what it had before, must hold again before it grows.
		if !p.S.Cluster.Spec.Auth.Enabled {
			return nil
		}
		return users.Authenticate(p)
	}}
}

// Undo implements rules.Operation.
func (Restore) Undo(u *rules.Undoing) error {
	if name := u.Of.Spec.Cluster; !u.Of.Spec.InPlace {
		return rules.NoUndo(name, name+" was made from a backup, and to take that back is to delete it", "")
	}
	return undoRestore(u)
}

// replacedData refuses to undo what replaced the data, and says where the data of before is.
func replacedData(u *rules.Undoing) error {
	of, facts, hint := u.Of.Spec, u.Of.Status.Facts, ""
	switch kept := facts[v1alpha1.FactKept]; {
	case facts[v1alpha1.FactBackup] != "":
		hint = fmt.Sprintf("the data of before is in a backup: kubectl dbop restore %s --in-place --from %s "+
			"--repository %s",
			of.Cluster, of.Backup, of.Repository)
	case kept != "":
		hint = fmt.Sprintf(
			"no backup was taken before; the data of before is in its volumes, which %s left as they were: kubectl "+
				"get pvc %s",
			of.Verb, kept)
	}
	return rules.NoUndo(of.Cluster, string(of.Verb)+" replaced the data of "+of.Cluster, hint)
}

// KeptVolumes is the fact that names the volumes of before the incarnation that the
// operation in flight begins, but for that of a former member which it begins with.
func KeptVolumes(s ops.State, former string) map[string]string {
	var names []string
	for _, m := range s.Kube.Members {
		if m.Name != former && m.Volume.Exists && !ops.IncarnationStartedBy(s.Operation, m.Volume.Token) {
			names = append(names, v1alpha1.VolumeName(m.Name))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return map[string]string{v1alpha1.FactKept: strings.Join(names, " ")}
}

// restoreInPlace ends the present incarnation of a cluster: a safety backup, all
// members stopped, their volumes kept, a new founding written down. What
// follows is the founding of any restored cluster. One that takes another back goes to the
// volumes that the other one kept.
func restoreInPlace(p rules.Situation) *ops.Decision {
	if !p.S.Operation.Spec.InPlace {
		return nil
	}
	switch {
	case p.S.Cancelling():
		return returnToIncarnation(p)
	case ops.TakesRestoreBack(p.S.Operation):
		return leaveIncarnation(p) // what follows is the start of any stopped cluster
	case incarnationStarted(p):
		return nil
	}
	if d := backups.ProveSource(p); d != nil {
		return d
	}
	if !p.S.Waives("backup") {
		if d := backups.First(p, true, false); d != nil {
			return d
		}
	}
	if names := p.Running(); len(names) > 0 {
		if d := p.Lingering(names); d != nil {
			return d
		}
		return rules.Do(ops.Step{ID: "stop-members", Action: ops.ActionStop, Members: names, Risk: ops.RiskDowntime,
			Deadline: rules.WaitDeadline,
			Title:    "Stop " + strings.Join(names, ", ") + " and keep their volumes",
			Reason:   "the restored cluster must be out of their reach",
			Touches:  ops.StatefulSets(names)})
	}
	return beginIncarnation(p, "")
}

// beginIncarnation ends the present incarnation, of which nothing runs any more: another one begins with a backup, or
// with a former member on its volume.
func beginIncarnation(p rules.Situation, former string) *ops.Decision {
	from := ops.IncarnationSource(p.S.Operation)
	step := ops.Step{ID: "begin-incarnation", Action: ops.ActionNewIncarnation, Risk: ops.RiskIrreversible,
		Deadline: rules.StepDeadline,
		Title:    "Start again from backup " + from.Backup + ops.TargetText(from.Target),
		Reason:   "the old volumes stay, under their old names"}
	if former != "" {
		step.Members = []string{former}
		step.Title = "Start again with the volume of " + former
		step.Reason = "it holds all that the others hold; their volumes stay, under their old names"
	}
	return rules.Do(step)
}

// incarnationStarted reports whether the founding in force is the one that the
// operation in flight wrote.
func incarnationStarted(p rules.Situation) bool {
	return p.S.Operation != nil && ops.IncarnationStartedBy(p.S.Operation, p.S.Bootstrap().Token)
}
