package health

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/drift"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// backupAge is from when on the newest backup is called old.
const backupAge = 24 * time.Hour

// budget checks whether evictions by others leave a majority.
func (d *Examination) budget() {
	voters := len(d.S.View.Voters())
	if voters < 2 || !d.e.Capabilities().Quorum {
		return
	}
	f := ops.Finding{Severity: ops.OK, Subject: "disruption budget"}
	switch b := d.S.Kube.Budget; {
	case b == nil && slices.ContainsFunc(altered(d.S), func(o drift.Difference) bool { return KindOf(o) == KindBudget }):
		return // told of the object
	case b == nil:
		f.Severity, f.What = ops.Warn, "there is none: draining nodes may take the quorum"
	case int(*b) < ops.Majority(voters):
		f.Severity, f.What = ops.Warn, fmt.Sprintf("it lets evictions leave %d members, a majority is %d", *b,
			ops.Majority(voters))
	default:
		f.What = fmt.Sprintf("evictions leave at least %d of %d members", *b, voters)
	}
	if f.Severity == ops.Warn {
		f.Remedy = d.settle(fmt.Sprintf("kubectl dbop scale %s --members %d sets it again", d.name,
			d.S.Cluster.Spec.Members))
	}
	d.add(f)
}

// spread checks whether the loss of one node takes the quorum.
func (d *Examination) spread() {
	on := map[string][]string{}
	voters := 0
	for _, r := range d.S.View.Voters() {
		voters++
		if pod := d.S.Kube.Member(r.Name).Pod; pod.Node != "" {
			on[pod.Node] = append(on[pod.Node], r.Name)
		}
	}
	if voters < 3 || len(on) == 0 {
		return
	}
	f := ops.Finding{Severity: ops.OK, Subject: "nodes", What: "the loss of any one node leaves a majority"}
	for _, node := range slices.Sorted(maps.Keys(on)) {
		members := on[node]
		switch n := len(members); {
		case n == voters:
			f.Severity, f.What = ops.Warn, "all voters run on node "+node+": its loss stops the cluster"
		case voters-n < ops.Majority(voters):
			f.Severity, f.What = ops.Warn,
				fmt.Sprintf("%d of %d voters run on node %s: its loss stops the cluster", n, voters,
					node)
		default:
			continue
		}
		f.Evidence = []string{node + " runs " + strings.Join(members, ", ")}
		f.Remedy = []string{"give the cluster more nodes, then: kubectl dbop restart " + d.name}
	}
	d.add(f)
}

// backups observes what there is to go back to, and whether anybody tried.
func (d *Examination) backups() {
	f := ops.Finding{Severity: ops.OK, Subject: "backup"}
	last, verified := d.S.Cluster.Status.LastBackup, d.S.Cluster.Status.LastVerifiedBackup
	if last != nil {
		f.Evidence = []string{fmt.Sprintf("newest: %s of %s in %s", last.ID, ops.Moment(last.Time.Time), last.Repository)}
	}
	switch {
	case last == nil:
		f.Severity, f.What, f.Remedy = ops.Warn, "none is known", d.takeBackup()
	case d.S.Now.Sub(last.Time.Time) > backupAge:
		f.Severity, f.What = ops.Warn, fmt.Sprintf("the newest is %d hours old", int(d.S.Now.Sub(last.Time.Time).Hours()))
		f.Remedy = d.takeBackup()
	case verified == nil:
		f.Severity, f.What, f.Remedy = ops.Warn, "none was ever verified", []string{verifyCommand(d.S.Cluster, last)}
	case verified.ID != last.ID:
		f.What = "recent; the newest verified one is older: " + verified.ID
	default:
		f.What = "recent and verified"
	}
	d.add(f)
	if failed := failedProof(d.S); failed != "" {
		d.add(ops.Finding{Severity: ops.Warn, Subject: "backup", What: failed, Remedy: d.takeBackup()})
	}
	if b := Scheduled(d.S); b != nil && b.Problem != "" && b.Reason != FailedProof {
		d.add(ops.Finding{Severity: ops.Warn, Subject: "schedule", What: b.Problem, Remedy: []string{b.remedy(d.name)}})
	}
}

// takeBackup makes a backup, of a cluster that can give one.
func (d *Examination) takeBackup() []string {
	if !d.Serves {
		return nil
	}
	if d.S.First() != nil {
		return []string{"kubectl dbop resume " + d.name + "; then kubectl dbop backup " + d.name + " --verify"}
	}
	return []string{"kubectl dbop backup " + d.name + " --verify"}
}

// NewestBackup is what a restore would begin from, nil if nothing is known.
func (d *Examination) NewestBackup() *v1alpha1.BackupReference {
	if last := d.S.Cluster.Status.LastBackup; last != nil {
		return last
	}
	return d.S.Cluster.Status.LastVerifiedBackup
}
