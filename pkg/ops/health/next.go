package health

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// commands are what to type next.
func (a *assessment) commands() []string {
	name := a.s.Cluster.Name
	var next []string
	down := a.s.Formed() && !a.serves()
	if a.full {
		next = append(next, a.room) // nothing else helps before that
	}
	if down {
		next = append(next, "kubectl dbop diagnose "+name)
	}
	if op := a.s.First(); op != nil {
		next = append(next, "kubectl dbop resume "+name)
		if way := a.verbs.WayBack(op, a.s.Cluster); way != "" {
			next = append(next, way)
		}
	}
	switch {
	case a.s.Operation != nil:
	case down && a.s.View.Hold != nil:
		next = append(next, "kubectl dbop hold "+name+" --end")
	case down && len(a.s.View.Candidates) > 0:
		next = append(next, "kubectl dbop plan failover "+name)
	case down && !a.s.View.Quorum && Blind(a.s) == nil:
		next = append(next, "kubectl dbop recover "+name)
	case !a.s.Formed():
		next = append(next, "kubectl dbop diagnose "+name)
	}
	if a.s.Operation == nil && len(a.lost) > 0 && a.serves() {
		next = append(next, fmt.Sprintf("kubectl dbop member replace %s %s", name, a.lost[0]))
	}
	if a.s.Operation == nil && len(a.s.View.Alarms) > 0 {
		next = append(next, "kubectl dbop alarms clear "+name)
	}
	if from := a.s.View.Source; from != nil && from.Following && a.s.Operation == nil && a.serves() {
		switch former := a.s.Cluster.Predecessor(); {
		case a.s.Kube.SentTo != "": // it keeps the way back open
		case former != "":
			next = append(next, fmt.Sprintf("kubectl dbop upgrade %s --online --version %s --into %s", former,
				a.s.Cluster.Spec.Version, name))
		default:
			next = append(next, "kubectl dbop plan cutover "+name)
		}
	}
	if a.room != "" && !a.full {
		next = append(next, a.room)
	}
	next = append(next, a.mend...)
	next = append(next, a.renew...)
	if len(a.sick) > 0 {
		next = append(next, "kubectl dbop logs "+name)
		if describe := Describe(a.s, a.sick[0]); describe != "" {
			next = append(next, describe)
		}
	}
	if len(a.sick) == 0 && len(a.unseen) > 0 {
		next = append(next, "kubectl describe node "+a.unseen[0])
	}
	if len(next) > 0 {
		return next
	}
	if data, witnesses := ops.Missing(a.e, a.s); data != 0 || witnesses != 0 {
		return append(next, fmt.Sprintf("kubectl dbop scale %s --members %d", name, a.s.Cluster.Spec.Members))
	}
	switch {
	case a.s.Cluster.Status.LastBackup == nil:
		next = append(next, "kubectl dbop backup "+name+" --verify")
	case a.s.Cluster.Status.LastVerifiedBackup == nil:
		next = append(next, verifyCommand(a.s.Cluster, a.s.Cluster.Status.LastBackup))
	}
	return next
}

// verifyCommand verifies a backup. It names the repository unless the command finds it by itself.
func verifyCommand(c *v1alpha1.DatabaseCluster, b *v1alpha1.BackupReference) string {
	command := "kubectl dbop backup verify " + b.ID
	if b.Repository != "" && b.Repository != c.Spec.Backup.Repository {
		command += " --repository " + b.Repository
	}
	return command
}

// Describe is the command that shows what Kubernetes says of a member, "" where
// nothing of it exists.
func Describe(s ops.State, member string) string {
	switch m := s.Kube.Member(member); {
	case m.Pod.Exists:
		return "kubectl describe pod " + v1alpha1.PodName(member)
	case m.Workload.Exists:
		return "kubectl describe statefulset " + member
	case m.Volume.Exists:
		return "kubectl describe pvc " + v1alpha1.VolumeName(member)
	}
	return ""
}
