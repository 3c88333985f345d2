package health

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// mostOfClaim is how much larger than its claim the file system of a volume may be and be that of the volume alone.
const mostOfClaim = 1.5

// filling reports whether the file system of a member's volume is so full that a person should act.
func filling(m engine.Member) bool {
	return m.Reachable && (m.Disk.Full() || m.Disk.Share() >= fullDisk)
}

// sharedDisk reports whether a volume is a directory of a file system that others use, too. A larger claim is no more
// space then.
func sharedDisk(s ops.State, m engine.Member) bool {
	capacity := s.Kube.Member(m.Name).Volume.Capacity
	return capacity.Value() > 0 && float64(m.Disk.Total) > mostOfClaim*float64(capacity.Value())
}

// enlarge is the command that gives the members of a cluster larger volumes.
func enlarge(s ops.State, verbs ops.Verbs) string {
	return verbs.Afterwards(s, v1alpha1.VerbResize, "kubectl dbop resize "+s.Cluster.Name+" --storage SIZE")
}

// capacity searches for alarms and for data that is about to reach its limit.
func (a *assessment) capacity() {
	for _, alarm := range a.s.View.Alarms {
		if alarm.Member == "" {
			a.problem("%s is raised for %s", alarm.Name, Whose(alarm))
		}
	}
	for _, m := range a.s.View.Members {
		if len(m.Alarms) > 0 {
			a.problem("%s raises %s", m.Name, strings.Join(m.Alarms, ", "))
		}
		if m.QuotaBytes > 0 && float64(m.DataBytes) >= fullDisk*float64(m.QuotaBytes) {
			a.problem("the database of %s is at %d%% of its quota", m.Name, 100*m.DataBytes/m.QuotaBytes)
		}
		if a.disk(m) {
			continue
		}
		capacity := a.s.Kube.Member(m.Name).Volume.Capacity
		if volume := capacity.Value(); volume > 0 && float64(m.DataBytes) >= fullDisk*float64(volume) {
			a.problem("the database of %s fills %d%% of its volume", m.Name, 100*m.DataBytes/volume)
		}
	}
}

// disk tells of the file system of a member's volume, and what makes room in it. It reports whether there was something
// to tell. Where the member is not healthy because of it, members has said so before.
func (a *assessment) disk(m engine.Member) bool {
	if !filling(m) {
		return false
	}
	shared, text := sharedDisk(a.s, m), ""
	if shared {
		text = ", which others on its node fill, too: a larger claim is no more space"
	}
	if !m.Disk.Full() || !slices.Contains(a.sick, m.Name) {
		a.problem("the disk of %s is %s%s", m.Name, m.Disk, text)
	}
	if shared || !a.s.Formed() || a.s.Verb() == v1alpha1.VerbResize {
		return true
	}
	a.room, a.full = enlarge(a.s, a.verbs), a.full || m.Disk.Full()
	return true
}

// disk examines the file system of a member's volume. It reports whether there was something to tell.
func (d *Examination) disk(m engine.Member, seen *[]string) bool {
	if m.Reachable && m.Disk.Total > 0 {
		*seen = append(*seen, fmt.Sprintf("the disk of %s is %s", m.Name, m.Disk))
	}
	if !filling(m) {
		return false
	}
	f := ops.Finding{Severity: ops.Warn, Subject: "space", What: fmt.Sprintf("the disk of %s is %s", m.Name, m.Disk),
		Evidence: []string{fmt.Sprintf("%d of %d bytes of the file system of its volume are used", m.Disk.Used,
			m.Disk.Total)}, Remedy: []string{d.moreRoom(m)}}
	if m.Disk.Full() {
		f.Severity = ops.Fail
		f.What += ": its server fails as soon as it finds no space left"
	}
	d.add(f)
	return true
}

// moreRoom is what gives a member space on its disk.
func (d *Examination) moreRoom(m engine.Member) string {
	if sharedDisk(d.S, m) {
		return fmt.Sprintf("make room on node %s: others fill the same disk, and a larger claim is no more space",
			ops.OrUnknown(d.S.Kube.Member(m.Name).Pod.Node))
	}
	return d.verbs.MoreSpace(d.S)
}
