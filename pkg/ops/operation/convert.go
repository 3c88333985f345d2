package operation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/backups"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// converting completes an upgrade to a version that can't read the data as it is: a backup of it is converted, and
// replaces it.
func converting(e engine.Engine, o *v1alpha1.OperationSpec, c *v1alpha1.DatabaseCluster) error {
	if !engine.Converts(e, o.FromVersion, o.Version) {
		return nil
	}
	if o.Repository == "" || o.Backup == "" || slices.Contains(o.Waive, "backup") {
		return &engine.Refusal{Check: "backup",
			Reason: fmt.Sprintf("data of %s must be converted for %s, and a backup is what is converted", o.FromVersion,
				o.Version),
			Hint: "leave --skip-backup out, and say where the backup goes with --repository"}
	}
	o.InPlace, o.FromIncarnation = true, ops.IncarnationOf(c)
	o.Source = &v1alpha1.BackupSource{Repository: o.Repository, Backup: repository.NextID(o.Backup),
		Version: o.FromVersion, FormerImage: o.FromImage}
	if slices.Contains(o.Waive, ops.WaiverWayBack) {
		if !engine.ConvertsInPlace(e) {
			return &engine.Refusal{Check: "link", Reason: "data of " + e.Name() + " is not converted on the volume of a member",
				Hint: "leave --link out"}
		}
		o.Source.Backup = o.Backup // no other one is taken
	}
	return nil
}

// stopToConvert stops a cluster whose data is to be converted: after everything that an upgrade asks, and after a
// backup was converted for a try, so that what the new version can't take shows while nothing has changed.
func stopToConvert(p rules.Situation) *ops.Decision {
	target := p.S.Operation.Spec.Version
	if err := p.E.CheckUpgrade(p.S.View, p.S.Cluster.Spec, target); err != nil {
		return p.Gate("may-upgrade", err, p.VoterNames()...)
	}
	if !p.S.Waives("downtime") {
		return rules.Block(&ops.Error{Kind: ops.Refused, Check: "downtime",
			Message: fmt.Sprintf("%s is down while its data is converted from %s to %s", p.S.Cluster.Name,
				p.S.Operation.Spec.FromVersion, target),
			Hint: "accept it: --allow-downtime; a restore makes another cluster of a backup meanwhile: kubectl dbop " +
				"restore NEW-NAME --from BACKUP --version " + target})
	}
	if d := backups.First(p, true, true); d != nil {
		return d
	}
	if d := standby(p); d != nil {
		return d
	}
	return stopAll(p)
}

// stopAll stops every member for the conversion.
func stopAll(p rules.Situation) *ops.Decision {
	names := p.Running()
	if d := p.Lingering(names); d != nil {
		return d
	}
	reason := "nothing may be written that the last backup does not hold"
	if ops.Links(p.S.Operation) {
		reason = "nothing may be written while the data is converted"
	}
	return rules.Do(ops.Step{ID: stepStopAll, Action: ops.ActionStop, Members: names, Risk: ops.RiskDowntime,
		Deadline: rules.WaitDeadline, Touches: ops.StatefulSets(names),
		Title: "Stop " + strings.Join(names, ", ") + " and keep their volumes", Reason: reason})
}

// stepStopAll is the step from which on the members stay stopped.
const stepStopAll = "stop-members"

// convertInPlace ends the present incarnation of a cluster whose members were stopped to convert their data: a backup
// of all that they held when they stopped, and a new founding with the new version. Their volumes are kept. What
// follows is the founding of any restored cluster.
func convertInPlace(p rules.Situation) *ops.Decision {
	switch op := p.S.Operation; {
	case !ops.Converts(op):
		return nil
	case p.S.Cancelling():
		if d := dismiss(p); d != nil {
			return d
		}
		return returnToIncarnation(p)
	case incarnationStarted(p) || !performed(op, stepStopAll):
		return nil
	case len(p.Running()) > 0 && readStopped(op):
		return rules.Block(&ops.Error{Kind: ops.NeedsHuman, Check: "ran-again",
			Message: fmt.Sprintf("members of %s ran again after their data was read, so its last backup may lack writes",
				p.S.Cluster.Name),
			Hint: "step back, then ask for the upgrade again: kubectl dbop cancel " + p.S.Cluster.Name})
	case len(p.Running()) > 0:
		return stopAll(p)
	}
	former, kept := "", health.AssessLoss(p.E, p.S).Kept
	var d *ops.Decision
	if ops.Links(p.S.Operation) {
		former, d = stoppedToLink(p, kept)
	} else {
		d = backUpStopped(p, kept)
	}
	if d != nil {
		if d.Blocked != nil {
			d.Blocked.Hint = "the former members run again after: kubectl dbop cancel " + p.S.Cluster.Name
		}
		return d
	}
	return beginIncarnation(p, former)
}

// performed reports whether a step of that name was started.
func performed(op *v1alpha1.Operation, step string) bool {
	for _, e := range op.Status.Journal {
		if e.Step == step {
			return true
		}
	}
	return false
}

// readStopped reports whether the data of stopped members was read already.
func readStopped(op *v1alpha1.Operation) bool {
	for fact := range op.Status.Facts {
		if strings.HasPrefix(fact, v1alpha1.FactExamined("")) {
			return true
		}
	}
	return false
}
