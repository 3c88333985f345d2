package health

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// identity searches for members of different clusters, and for a cluster that is
// not the recorded one.
func (d *Examination) identity() {
	ids, recorded := d.S.View.ClusterIDs, d.S.Bootstrap().ClusterID
	f := ops.Finding{Severity: ops.OK, Subject: "identity"}
	for _, m := range d.S.View.Members {
		if m.ClusterID != "" {
			f.Evidence = append(f.Evidence, m.Name+" says cluster ID "+m.ClusterID)
		}
	}
	if recorded != "" {
		f.Evidence = append(f.Evidence, "recorded when it formed: "+recorded)
	}
	switch {
	case len(ids) == 0:
		f.Severity, f.What = ops.Warn, "no member told its cluster ID"
	case len(ids) > 1:
		f.Severity, f.What = ops.Fail, fmt.Sprintf("split: the members belong to %d different clusters", len(ids))
		f.Remedy = []string{"keep clients from writing, and delete no volume: each part may hold writes that the " +
			"other lacks",
			"decide which part is the database" + d.recordedPart(recorded),
			"export the other part's keys before its members are replaced"}
	case recorded != "" && ids[0] != recorded:
		f.Severity, f.What = ops.Fail, "the members form another cluster than the recorded one"
		f.Remedy = []string{"keep clients from writing, and find out who replaced the data: kubectl dbop history " + d.name}
	default:
		f.What = "all that answer belong to one cluster, " + ids[0]
	}
	d.add(f)
	if names := d.S.View.Rivals(); len(names) > 0 {
		d.add(ops.Finding{Severity: ops.Fail, Subject: "leader", What: strings.Join(names, " and ") +
			" both lead and accept writes",
			Evidence: []string{"no operation goes on meanwhile"},
			Remedy:   []string{"keep clients from writing; if it lasts, stop the one that the other members do not follow"}})
	}
	if foreign := d.S.Kube.Foreign; len(foreign) > 0 {
		d.add(ops.Finding{Severity: ops.Fail, Subject: "objects",
			What:     "objects that are not this cluster's bear its names",
			Evidence: foreign,
			Remedy:   []string{"remove them if nobody needs them, or choose another name for the cluster"}})
	}
}

// recordedPart names the members that still have the recorded identity.
func (d *Examination) recordedPart(recorded string) string {
	var names []string
	for _, m := range d.S.View.Members {
		if recorded != "" && m.ClusterID == recorded {
			names = append(names, m.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ": the recorded ID is that of " + strings.Join(names, ", ")
}

// bootstrap tells a cluster that never was from one that fell.
func (d *Examination) bootstrap() {
	if d.S.Formed() {
		return
	}
	f := ops.Finding{Severity: ops.Fail, Subject: "bootstrap", What: "the cluster has not formed yet",
		Remedy: []string{"repeat the command that created it: kubectl dbop history " + d.name + " shows it"}}
	if d.S.Operation != nil {
		f.Remedy = []string{"kubectl dbop resume " + d.name}
	}
	d.add(f)
}

// quorum tells whether a majority agrees and, if not, whether it can again.
func (d *Examination) quorum() {
	if !d.e.Capabilities().Quorum || !d.S.Formed() {
		return
	}
	if !d.S.View.Quorum {
		d.quorumLost()
		return
	}
	a := assessment{e: d.e, s: d.S}
	voters := len(d.S.View.Voters())
	f := ops.Finding{Severity: ops.OK, Subject: "quorum", What: "a majority agrees, " + a.margin(),
		Evidence: []string{fmt.Sprintf("%d members vote, %d are a majority", voters, ops.Majority(voters))}}
	margin := d.e.Tolerates(d.S.View)
	if margin < 0 {
		// Just after a failure, or with an alarm on most members.
		f.What = "a majority answered, but fewer voters than that are healthy"
	}
	if margin < 0 || margin == 0 && voters > 1 {
		f.Severity, f.Remedy = ops.Warn, []string{"mend the members below before anything else is changed"}
	}
	d.add(f)
	if text := a.wrongSize(); text != "" {
		d.add(ops.Finding{Severity: ops.Warn, Subject: "size", What: text,
			Remedy: []string{fmt.Sprintf("kubectl dbop scale %s --members %d", d.name, d.S.Cluster.Spec.Members)}})
	}
}

// quorumLost proves what can be proven: with the volumes of a majority
// everything that was acknowledged still exists, without them it may not.
func (d *Examination) quorumLost() {
	kept, gone := d.volumes()
	total := d.electorate()
	f := ops.Finding{Severity: ops.Fail, Subject: "quorum",
		Evidence: []string{fmt.Sprintf("%d of %d volumes exist, %d are a majority", len(kept), total, ops.Majority(total))}}
	for _, m := range d.S.View.Members {
		if !m.Reachable {
			f.Evidence = append(f.Evidence, m.Name+" does not answer: "+cmp.Or(m.Problem, "no reason known"))
		}
	}
	if Blind(d.S) != nil {
		f.What = "not known: this tool can't log in to ask the members"
		f.Remedy = []string{"kubectl dbop repair " + d.name}
		d.add(f)
		return
	}
	if len(kept) >= ops.Majority(total) {
		d.QuorumLoss = LossTransient
		f.What = "lost, transient: the volumes of a majority exist, so nothing is lost"
		if doubtful := d.doubtful(kept); len(kept)-len(doubtful) < ops.Majority(total) {
			f.What = "lost, transient as far as it shows: the volumes of a majority exist, but whether they can be used is " +
				"not proven of " + strings.Join(doubtful, ", ")
		}
		f.Remedy = append([]string{"delete no volume; bring the pods back: kubectl dbop recover " + d.name},
			d.bringBack(kept)...)
	} else {
		d.QuorumLoss = LossPermanent
		f.What = fmt.Sprintf("lost, permanent: %d of %d volumes are gone", total-len(kept), total)
		if len(gone) > 0 {
			f.Evidence = append(f.Evidence, "without a volume: "+strings.Join(gone, ", "))
		}
		f.Remedy = append([]string{"kubectl dbop recover " + d.name}, d.restore(kept)...)
	}
	d.add(f)
}

// volumes tells the members whose volume exists from those whose is gone.
func (d *Examination) volumes() (kept, gone []string) {
	for _, name := range d.members() {
		if d.hasVolume(name) {
			kept = append(kept, name)
		} else {
			gone = append(gone, name)
		}
	}
	return kept, gone
}

// doubtful are the members whose volumes exist but may hold nothing of use:
// those that crash on theirs, and those on a lost node.
func (d *Examination) doubtful(names []string) []string {
	var out []string
	for _, name := range names {
		if p := d.S.Kube.Member(name).Pod.Problem; p != nil &&
			(p.Kind == observe.ProblemCrashing || p.Kind == observe.ProblemNode) {
			out = append(out, name)
		}
	}
	return out
}

// electorate is how many members voted before the quorum was lost: nobody can
// be asked, so it is what was wanted, or what exists if that is more. Half way
// through a change of size the smaller wish counts: less is called lost for good.
func (d *Examination) electorate() int {
	wanted := d.S.Cluster.Spec.Members
	if op := d.S.Operation; op != nil && op.Spec.FromMembers > 0 {
		wanted = min(wanted, op.Spec.FromMembers)
	}
	exist := 0
	for _, m := range d.S.Kube.Members {
		if d.S.Ours(m) {
			exist++
		}
	}
	return max(int(wanted), exist)
}

// bringBack are the deeds that give pods to members whose volumes exist.
func (d *Examination) bringBack(names []string) []string {
	var out []string
	for _, name := range names {
		m := d.S.Kube.Member(name)
		if m.Pod.Running && m.Pod.Problem == nil {
			continue
		}
		for _, deed := range d.revive(name) {
			if !slices.Contains(out, deed) {
				out = append(out, deed)
			}
		}
	}
	return out
}

// restore is the way back from a backup, and what to save before it.
func (d *Examination) restore(kept []string) []string {
	var out []string
	if len(kept) > 0 {
		out = append(out, "keep the volumes of "+strings.Join(kept, ", ")+": they may hold writes that no backup has")
	}
	newest := d.NewestBackup()
	if newest == nil {
		return append(out, "no backup is known; search for one: kubectl dbop backup list "+d.name)
	}
	return append(out, fmt.Sprintf("restore the newest backup, of %s; writes since then are lost",
		ops.Moment(newest.Time.Time)),
		fmt.Sprintf("kubectl dbop restore %s --from %s --repository %s --in-place --skip-backup", d.name, newest.ID,
			newest.Repository))
}

// leader checks whether those that answer agree on who leads.
func (d *Examination) leader() {
	var claims, follows []string
	f := ops.Finding{Severity: ops.OK, Subject: "leader"}
	for _, m := range d.S.View.Members {
		if !m.Reachable {
			continue
		}
		if m.Role.Leads() {
			claims = append(claims, m.Name)
		}
		if m.Leader != "" && !slices.Contains(follows, m.Leader) {
			follows = append(follows, m.Leader)
		}
		f.Evidence = append(f.Evidence, d.follows(m))
	}
	switch {
	case len(claims) > 1 || len(follows) > 1:
		f.Severity, f.What = ops.Warn, "the members do not agree on who leads; between two leaders that is so for a moment"
		f.Remedy = []string{"check again: kubectl dbop diagnose " + d.name}
	case len(claims) == 1:
		f.What = "all that answer agree that " + claims[0] + " leads"
	case len(follows) == 1 && d.S.View.Quorum:
		f.Severity, f.What = ops.Warn, "the leader is known but was not reached"
	default:
		f.Severity, f.What, f.Remedy = ops.Fail, "nobody leads", []string{"kubectl dbop logs " + d.name}
		for _, c := range d.S.View.Candidates {
			f.Evidence = append(f.Evidence, "if "+c.Member+" leads: "+c.Loss)
			f.Remedy = []string{"bring back the members that are away; if they never come back: kubectl dbop plan failover " +
				d.name}
		}
		if d.QuorumLoss != LossNone {
			f.Remedy = []string{"first the quorum, see above"}
		}
	}
	d.add(f)
}

// follows is what a member says of its role and whom it follows, by name where the ID is known.
func (d *Examination) follows(m engine.Member) string {
	if m.Role.Leads() || m.Leader == "" {
		return fmt.Sprintf("%s is %s", m.Name, m.Role)
	}
	leader := m.Leader
	for _, other := range d.S.View.Members {
		if other.ID == m.Leader {
			leader = other.Name
		}
	}
	return fmt.Sprintf("%s is %s and follows %s", m.Name, m.Role, leader)
}
