package operation

import (
	"fmt"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// undoRestore completes the request that goes back to the volumes from before a restore in place. Whether they are
// there is seen when it is planned.
func undoRestore(u *rules.Undoing) error {
	of, backup := u.Of.Spec, u.Of.Status.Facts[v1alpha1.FactBackup]
	if of.FromIncarnation == nil || of.FromIncarnation.Bootstrap.ClusterID == "" {
		return replacedData(u)
	}
	u.Operation.Verb, u.Operation.InPlace = v1alpha1.VerbRestore, true
	u.Operation.ToIncarnation = of.FromIncarnation.DeepCopy()
	u.Title = "go back to the volumes from before it"
	ended := ""
	if at := u.Of.Status.FinishedAt; at != nil {
		ended = ", at " + at.UTC().Format(time.RFC3339)
	}
	u.Lost = []string{"all that was written since the restore ended" + ended +
		": nothing but the volumes of the restored data holds it"}
	u.Kept = []string{"the volumes of the restored data"}
	if of.FromIncarnation.Stopped {
		u.Lost = append(u.Lost, "every connection, until it is started: it was stopped before the restore")
	}
	if backup != "" {
		u.Operation.ToIncarnation.Backup = &v1alpha1.BackupSource{Repository: of.Repository, Backup: backup}
		u.Kept = append(u.Kept, fmt.Sprintf("the safety backup from before the restore: %s, in %s", backup, of.Repository))
	}
	return nil
}

// checkRestored refuses to take back a restore whose data is not the cluster's any more.
func checkRestored(o v1alpha1.OperationSpec, c *v1alpha1.DatabaseCluster) error {
	of := &v1alpha1.Operation{}
	of.Name = o.Undoes
	if f := c.Status.Bootstrap; o.ToIncarnation == nil || f != nil && ops.IncarnationStartedBy(of, f.Token) {
		return nil
	}
	return &engine.Refusal{Check: "undo", Reason: fmt.Sprintf("%s does not run any more on the data that %s restored",
		c.Name, o.Undoes), Hint: "kubectl dbop history " + c.Name + " shows what was done since"}
}

// formerVolumes says what there is to do where the volumes from before a restore are not there any more.
func formerVolumes(p rules.Situation) string {
	op, name := p.S.Operation, p.S.Cluster.Name
	switch {
	case !ops.TakesRestoreBack(op):
		return "finish the restore: kubectl dbop resume " + name
	case p.S.Cancelling():
		return "go on to the volumes from before the restore: kubectl dbop resume " + name
	case !p.Fresh():
		return "run on the restored data again: kubectl dbop cancel " + name
	case op.Spec.ToIncarnation.Backup == nil:
		return "no backup was taken before the restore; kubectl dbop backup list " + name + " shows those that there are"
	}
	b := op.Spec.ToIncarnation.Backup
	return fmt.Sprintf("the data of before is in a backup: kubectl dbop restore %s --in-place --from %s --repository %s",
		name, b.Backup, b.Repository)
}

// returning is what the step that goes back to other volumes is called, and why it may.
func returning(op *v1alpha1.Operation) (title, reason string) {
	switch {
	case !ops.TakesRestoreBack(op):
		return "Go back to the former volumes", "they are as they were before the restore"
	case op.Status.Phase == v1alpha1.PhaseCancelling:
		return "Go back to the volumes of the restored data", "they are as they were when the restore was to be taken back"
	}
	return "Go back to the volumes from before the restore",
		"they are as they were then; those of the restored data stay, under their names"
}

// LeftVolumes is the fact that names the volumes of the incarnation which an operation that takes a restore back leaves
// as they are; nil for every other operation.
func LeftVolumes(s ops.State) map[string]string {
	to := ops.ReturnsTo(s.Operation)
	if !ops.TakesRestoreBack(s.Operation) || s.Bootstrap().Token == to.Bootstrap.Token {
		return nil
	}
	var names []string
	for _, m := range s.Kube.Members {
		if m.Volume.Exists && m.Volume.Token == s.Bootstrap().Token {
			names = append(names, v1alpha1.VolumeName(m.Name))
		}
	}
	return map[string]string{v1alpha1.FactKept: strings.Join(names, " ")}
}
