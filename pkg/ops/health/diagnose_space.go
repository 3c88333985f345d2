package health

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/drift"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// alarms tells what each alarm asks for. Disarming comes last: before its
// cause is gone it only hides it.
func (d *Examination) alarms() {
	for _, a := range d.S.View.Alarms {
		f := ops.Finding{Severity: ops.Fail, Subject: "alarm " + a.Name, What: "it is raised for " + Whose(a),
			Remedy: []string{"do not disarm it before its cause is gone"}}
		if adviser, ok := d.e.(engine.Adviser); ok {
			if advice, known := adviser.Advise(d.S.Cluster, a.Member, a.Name); known {
				f.What, f.Remedy = f.What+": "+advice.Meaning, advice.Remedy
			}
		}
		d.add(f)
	}
	if len(d.S.View.Alarms) == 0 && d.reached() > 0 {
		d.add(ops.Finding{Severity: ops.OK, Subject: "alarms", What: "none"})
	}
}

// reached is how many members answered.
func (d *Examination) reached() int {
	n := 0
	for _, m := range d.S.View.Members {
		if m.Reachable {
			n++
		}
	}
	return n
}

// space reads the ceilings of each member's data: the engine's quota, the disk and the volume.
func (d *Examination) space() {
	before := len(d.Findings)
	var seen []string
	drop := ""
	if _, compacts := d.e.(engine.CompactionRules); compacts {
		drop = ", drop history (kubectl dbop compact " + d.name + "),"
	}
	for _, m := range d.S.View.Members {
		capacity := d.S.Kube.Member(m.Name).Volume.Capacity
		d.fill(m, "quota", m.QuotaBytes, &seen, "delete what is not needed"+drop+" or raise the quota")
		if d.disk(m, &seen) {
			continue
		}
		d.fill(m, "volume", capacity.Value(), &seen, "grow the volume, where its storage class allows it")
	}
	if len(d.Findings) == before && len(seen) > 0 {
		d.add(ops.Finding{Severity: ops.OK, Subject: "space", What: "no quota or volume is near its limit", Evidence: seen})
	}
}

// Override says what somebody set on a member alone; "" for nothing.
func Override(m engine.Member) string {
	if len(m.Overridden) == 0 {
		return ""
	}
	return "somebody set " + strings.Join(m.Overridden, ", ") +
		" on this member alone, past the options of the cluster: another member that leads would not have it"
}

// warnings tells what the members warn of.
func (d *Examination) warnings() {
	for _, m := range d.S.View.Members {
		if what := Override(m); what != "" {
			d.add(ops.Finding{Severity: ops.Warn, Subject: "member " + m.Name, What: what,
				Remedy: []string{"kubectl dbop configure " + d.name + " --set " + m.Overridden[0] +
					"=VALUE gives it to all members", "kubectl dbop repair " + d.name + " takes it back"}})
		}
		for _, what := range m.Warnings {
			d.add(ops.Finding{Severity: ops.Warn, Subject: "member " + m.Name, What: what,
				Remedy: []string{"kubectl dbop connect " + d.name}})
		}
	}
}

// fill compares one member's data with one ceiling.
func (d *Examination) fill(m engine.Member, ceiling string, limit int64, seen *[]string, otherwise string) {
	if !m.Reachable || limit <= 0 || m.DataBytes <= 0 {
		return
	}
	share := float64(m.DataBytes) / float64(limit)
	text := fmt.Sprintf("the database of %s fills %d%% of its %s", m.Name, 100*m.DataBytes/limit, ceiling)
	*seen = append(*seen, text)
	if share < fullDisk {
		return
	}
	f := ops.Finding{Severity: ops.Warn, Subject: "space", What: text,
		Evidence: []string{fmt.Sprintf("%d of %d bytes, %d in use", m.DataBytes, limit, m.UsedBytes)}}
	if share >= engine.Brimful {
		f.Severity = ops.Fail
	}
	if gain := d.e.Capabilities().DefragmentGain; gain > 0 && m.UsedBytes > 0 && m.DataBytes-m.UsedBytes >= gain {
		f.Remedy = append(f.Remedy, "kubectl dbop defrag "+d.name)
	}
	f.Remedy = append(f.Remedy, otherwise)
	d.add(f)
}

// versions searches for members that differ, from each other and from what is wanted.
func (d *Examination) versions() {
	var seen []string
	distinct, wanted := map[string]bool{}, d.S.Cluster.Spec.Version
	for _, m := range d.S.View.Members {
		if m.Version != "" {
			distinct[m.Version] = true
			seen = append(seen, fmt.Sprintf("%s runs %s", m.Name, m.Version))
		}
	}
	f := ops.Finding{Severity: ops.OK, Subject: "versions", What: "all that answer run " + wanted, Evidence: seen}
	switch {
	case len(seen) == 0:
		return
	case len(distinct) == 1 && distinct[wanted]:
	case d.S.Operation != nil:
		f.What = fmt.Sprintf("%s is wanted, and %s is in flight", wanted, d.S.Verb())
	case len(distinct) > 1:
		f.Severity, f.What = ops.Warn, fmt.Sprintf("mixed; %s is wanted", wanted)
		f.Remedy = []string{fmt.Sprintf("kubectl dbop upgrade %s --version %s", d.name, wanted)}
	default:
		f.Severity, f.What = ops.Warn, fmt.Sprintf("all run another version than the wanted %s", wanted)
		f.Remedy = []string{fmt.Sprintf("kubectl dbop upgrade %s --version %s", d.name, wanted)}
	}
	d.add(f)
	if to := d.S.View.Downgrade; to != "" && d.S.Operation == nil {
		d.add(ops.Finding{Severity: ops.Warn, Subject: "downgrade",
			What: fmt.Sprintf(
				"one to %s was announced and is not over: nobody can join, and the cluster stays at what %s understands", to,
				d.e.Series(to)),
			Remedy: []string{fmt.Sprintf("kubectl dbop downgrade %s --version %s", d.name, d.e.Series(to))}})
	}
}

// objects searches for what clients and members need besides pods.
func (d *Examination) objects() {
	var missing []string
	told := slices.ContainsFunc(altered(d.S), func(o drift.Difference) bool { return KindOf(o) == KindService })
	if !d.S.Kube.Services && !told {
		missing = append(missing, "a service, by which clients and members find each other")
	}
	if !d.S.Kube.Certificates {
		missing = append(missing, "a secret with certificates")
	}
	if len(missing) > 0 {
		d.add(ops.Finding{Severity: ops.Fail, Subject: "objects", What: "missing: " + strings.Join(missing, ", and "),
			Remedy: d.settle("kubectl dbop restart " + d.name)})
	}
}
