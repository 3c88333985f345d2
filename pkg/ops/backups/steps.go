package backups

import (
	"errors"
	"fmt"
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// First makes, and if asked verifies, the backup of the operation in
// flight. Its identifier was chosen before, so a repeat overwrites only its own.
// Leader asks for all that was written: another member may lack the last of it.
func First(p rules.Situation, leader, verify bool) *ops.Decision {
	op := p.S.Operation
	if p.S.Fact(v1alpha1.FactBackup) == "" {
		source, parent, why := sourceOf(p, leader)
		if source == "" && ops.JobStarted(op) {
			// No matter how the members are.
			return rules.Do(backupStep(op, nil, parent, "Have a backup taken to "+op.Spec.Repository))
		}
		if source == "" && parent != "" {
			return rules.Block(&ops.Error{Kind: ops.Refused, Check: "incremental",
				Message: fmt.Sprintf("no healthy member of %s can tell any more what changed since backup %s", p.S.Cluster.Name,
					parent),
				Hint: fmt.Sprintf("kubectl dbop cancel %s; then take a full backup: kubectl dbop backup %s --repository %s",
					p.S.Cluster.Name, p.S.Cluster.Name, op.Spec.Repository)})
		}
		if source == "" {
			return rules.Block(&ops.Error{Kind: ops.Refused, Check: "backup",
				Message: "no member of " + p.S.Cluster.Name + " is fit to take a backup from",
				Hint: "kubectl dbop status " + p.S.Cluster.Name +
					" shows why; --skip-backup goes on without one, where that is wanted"})
		}
		title := fmt.Sprintf("Back up %s to %s", source, op.Spec.Repository)
		if parent != "" {
			title += ": what changed since " + parent
		}
		step := backupStep(op, []string{source}, parent, title)
		step.Reason = why
		return rules.Do(step)
	}
	if verify && p.S.Fact(v1alpha1.FactVerified) == "" {
		step := ops.Step{ID: "verify-backup/" + op.Spec.Backup, Action: ops.ActionVerify, Risk: ops.RiskNone,
			Deadline: rules.StreamDeadline,
			Title:    "Restore the backup into a throw-away member and compare",
			Reason:   "backups are verified by a test restore",
			Touches:  []string{"backup/" + op.Spec.Backup}}
		if converted := p.Conversion(); converted != "" {
			step.Title = "Restore the backup into a throw-away member" + converted
			step.Reason = "what the later version can't take shows while nothing has changed"
		}
		return rules.Do(step)
	}
	return nil
}

// sourceOf is the member that is fit to stream the backup of the operation in flight, "" for none, and the full backup
// that it adds to. One of a schedule holds all data where nobody can tell any more what changed: why says so.
func sourceOf(p rules.Situation, leader bool) (member, parent, why string) {
	o := p.S.Operation.Spec
	if o.Parent == "" && o.FullEvery == "" {
		return p.E.Source(p.S.View, leader), "", ""
	}
	base, err := Base(p.E, p.S, o.Repository)
	switch refusal, refused := errors.AsType[*engine.Refusal](err); {
	case err == nil && o.Parent != "" && base.Backup == o.Parent:
		return base.Member, o.Parent, ""
	case o.FullEvery == "":
		return "", o.Parent, ""
	case refused:
		why = "what changed is not known: " + refusal.Reason
	}
	return p.E.Source(p.S.View, leader), "", why
}

// Base is the newest full backup in a repository since which a member can stream the changes. A Refusal says why there
// is none.
func Base(e engine.Engine, s ops.State, repository string) (engine.BaseOf, error) {
	i, ok := e.(engine.Incremental)
	if !ok {
		return engine.BaseOf{}, NoneIncremental(e, "take a full one: leave --incremental out")
	}
	return i.IncrementalSource(s.View, s.Cluster, repository)
}

// NoneIncremental is the Refusal of an engine whose backups all hold all data.
func NoneIncremental(e engine.Engine, hint string) *engine.Refusal {
	return &engine.Refusal{Check: "incremental", Reason: e.Name() + " has no incremental backups", Hint: hint}
}

func backupStep(op *v1alpha1.Operation, members []string, parent, title string) ops.Step {
	return ops.Step{ID: ops.BackupStepPrefix + op.Spec.Backup, Action: ops.ActionBackup, Members: members, Parent: parent,
		Risk: ops.RiskNone, Deadline: rules.StreamDeadline, Title: title, Touches: []string{"backup/" + op.Spec.Backup}}
}

// Stopping stops what takes and what verifies the backup of an operation that is stepped back from: a Job, and the
// throw-away member that holds a copy. Nothing else goes on without the process that started it.
func Stopping(p rules.Situation) *ops.Decision {
	op := p.S.Operation
	switch {
	case op == nil || !p.S.Cancelling():
		return nil
	case verifies(p):
		return rules.Do(ops.Step{ID: "stop-backup/verification", Action: ops.ActionStopBackup,
			Risk: ops.RiskNone, Deadline: rules.StepDeadline, Title: "Delete the throw-away member",
			Reason: "it holds a copy of the data, which nobody compares any more"})
	case p.S.Fact(v1alpha1.FactStopped) != "" || !ops.JobStarted(op):
		return nil
	}
	return rules.Do(StopJob(op))
}

// StopJob is the step that stops the Job which takes the backup of an operation, see ops.JobStarted.
func StopJob(op *v1alpha1.Operation) ops.Step {
	return ops.Step{ID: "stop-backup/" + op.Spec.Backup, Action: ops.ActionStopBackup, Risk: ops.RiskNone,
		Deadline: rules.StepDeadline, Title: "Stop the job that takes the backup",
		Reason:  "half a backup is none; a prune collects it after a day",
		Touches: []string{"job/" + ops.BackupJob(op.Spec.Backup)}}
}

// verifies reports whether a member is there that the operation restored its backup into.
func verifies(p rules.Situation) bool {
	pod := v1alpha1.PodName(ops.ThrowAway(p.S.Cluster.Name, p.S.Operation.Spec.Backup))
	return slices.ContainsFunc(p.S.Kube.Helpers, func(h observe.Helper) bool { return h.Name == pod && !h.Terminating })
}

// ProveSource reads the backup that a restore loads, before anything is lost that it is to replace.
func ProveSource(p rules.Situation) *ops.Decision {
	from := p.S.Operation.Spec.Source
	if from == nil || p.S.Fact(v1alpha1.FactProven) != "" {
		return nil
	}
	return rules.Do(ops.Step{ID: "prove-backup/" + from.Backup, Action: ops.ActionProveBackup, Risk: ops.RiskNone,
		Deadline: rules.StreamDeadline, Title: "Read backup " + from.Backup + " and compare each byte",
		Reason: "members stop only for a backup that is whole", Touches: []string{"backup/" + from.Backup}})
}
