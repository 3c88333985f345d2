package rules

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// RecordMissing is the answer to every command on a cluster whose record is
// lost while its members run.
func RecordMissing(cluster string) *ops.Error {
	return &ops.Error{Kind: ops.Refused, Check: "record-missing",
		Message: fmt.Sprintf("the record of %s (configmap %s) is missing, its members still run", cluster,
			v1alpha1.Record(cluster)),
		Hint: fmt.Sprintf("write it again from what is there: kubectl dbop repair %s", cluster)}
}

// Founding brings a cluster into being, once. The founding members and the
// token were written down before the first effect, so a process that continues
// starts the same members with the same words; they come up together, which
// is one election instead of one join after another. When all of them agree,
// the identity is recorded, and from then on nobody may found it again.
func (p Situation) Founding() *ops.Decision {
	if p.S.Formed() {
		return nil
	}
	f := p.S.Bootstrap()
	if slices.ContainsFunc(p.S.Kube.Leftovers, func(o string) bool { return strings.HasPrefix(o, "statefulset/") }) {
		return Block(RecordMissing(p.S.Cluster.Name)) // that cluster lives, and only its record is lost
	}
	// Volumes first: with them, secrets that are left are those of data that somebody may want back.
	if d := p.staleVolumes(f); d != nil {
		return d
	}
	if left := p.S.Kube.Leftovers; len(left) > 0 {
		return Do(ops.Step{ID: "delete-leftovers", Action: ops.ActionDeleteLeftovers, Risk: ops.RiskNone,
			Deadline: StepDeadline, Touches: left,
			Title: "Delete what an earlier cluster named " + p.S.Cluster.Name + " left"})
	}
	if !p.S.Kube.Certificates && !p.S.Cluster.Spec.TLS.Disabled {
		if t := p.S.Kube.Trust; t != nil && t.GivenProblem != "" {
			return Block(&ops.Error{Kind: ops.Refused, Check: "authority", Message: t.GivenProblem,
				Hint: "put certificate and key of an authority into secret " + p.S.Cluster.Spec.TLS.CASecret +
					" (kubectl create secret tls); then repeat the command"})
		}
		title, deadline := "Create a certificate authority and client certificates", StepDeadline
		if i := p.S.Cluster.Spec.TLS.Issuer; i != nil {
			title, deadline = fmt.Sprintf("Have %s sign a certificate authority, and create client certificates", i),
				WaitDeadline
		}
		return Do(ops.Step{ID: "create-certificates", Action: ops.ActionCertificates, Risk: ops.RiskNone,
			Deadline: deadline,
			Title:    title,
			Touches: []string{"secret/" + v1alpha1.CASecret(p.S.Cluster.Name), "secret/" +
				v1alpha1.AdminSecret(p.S.Cluster.Name), "secret/" + v1alpha1.ClientSecret(p.S.Cluster.Name)}})
	}
	if p.Traits.Passwords && p.S.Cluster.Spec.Auth.Enabled && p.S.Fact(v1alpha1.FactCredentials) == "" {
		return p.Credentials("a client that waits to mount one need not wait for the cluster; " + EachOfItsOwn)
	}
	if !p.S.Kube.Services {
		return p.Services()
	}
	if f.InPlace != "" && !f.Loaded {
		return p.convertingInPlace(f)
	}
	if from := p.S.Cluster.Spec.RestoreFrom; from != nil && !f.Loaded {
		return Do(ops.Step{ID: "load-backup/" + f.Members[0], Action: ops.ActionLoad, Members: f.Members[:1],
			Risk: ops.RiskNone, Deadline: StreamDeadline,
			Title: fmt.Sprintf("Load backup %s%s into the volume of %s%s", from.Backup, ops.TargetText(from.Target),
				f.Members[0], p.Conversion()),
			Reason:  takes(p.S.Operation.Spec.Source),
			Touches: []string{"persistentvolumeclaim/" + v1alpha1.VolumeName(f.Members[0])}})
	}
	if missing := p.unstarted(f.Members); len(missing) > 0 {
		return p.Start(missing, p.begins())
	}
	if d := p.correction(f.Members); d != nil {
		return d
	}
	if ops.Unformed(p.S.Cluster) {
		if d := p.ChangeSettings(); d != nil {
			return d // the first members may have agreed on options that were corrected since
		}
	}
	if d := p.copying(f.Members); d != nil {
		return d
	}
	for _, name := range f.Members {
		if err := p.E.Health(p.S.View, name); err != nil {
			return p.awaitCopies(err.Error(), f.Members)
		}
	}
	if len(p.S.View.Joined()) != len(f.Members) {
		return p.awaitCopies(fmt.Sprintf("%d of %d members vote", len(p.S.View.Joined()), len(f.Members)), f.Members)
	}
	if from := p.S.Cluster.Spec.Source; from != nil && p.S.View.Source == nil && f.Incarnation == 0 {
		return p.awaitCopies("no member says yet how much it has of "+from.String(), f.Members)
	}
	return Do(ops.Step{ID: "record-bootstrap", Action: ops.ActionRecordFormed, Risk: ops.RiskNone, Deadline: StepDeadline,
		Title: "Record the cluster's identity", Reason: "from here on members only ever join"})
}

// convertingInPlace converts the data of a former member on its volume, with which the cluster begins.
func (p Situation) convertingInPlace(f v1alpha1.Bootstrap) *ops.Decision {
	name := f.Members[0]
	return Do(ops.Step{ID: string(ops.ActionConvert) + "/" + name, Action: ops.ActionConvert, Members: f.Members[:1],
		Risk: ops.RiskIrreversible, Deadline: StreamDeadline, Touches: Claims(f.Members[:1]),
		Title: "Take over the volume of " + name + p.Conversion() + " there, by links; then there is no way back on it",
		Reason: "nothing of the size of the data is copied; the first start of the new version, at the end of this step, " +
			"writes to files that both versions have"})
}

// takes says how much data a backup brings, and what is known of how long that takes.
func takes(from *v1alpha1.BackupSource) string {
	if from == nil || from.Bytes == 0 {
		return ""
	}
	text := fmt.Sprintf("it holds %.1f MiB", float64(from.Bytes)/(1<<20))
	if from.Seconds > 0 {
		text += fmt.Sprintf(", and took %s to take: so long it may take to load", time.Duration(from.Seconds)*time.Second)
	}
	return text
}

// begins says what the first members are started for.
func (p Situation) begins() string {
	if from := p.S.Cluster.Spec.Source; from != nil {
		return "found the cluster as a copy of " + from.String() + ", which is checked first, and follow it"
	}
	return "found the cluster"
}

// copying waits as long as data comes from the source, and stops where it can't be followed as it is.
func (p Situation) copying(members []string) *ops.Decision {
	from := p.S.View.Source
	if from == nil || from.Following {
		return nil
	}
	if from.Refused {
		return Block(&ops.Error{Kind: ops.Refused, Check: "source", Message: from.Address + ": " + from.Problem,
			Hint: "change that there, and go on: kubectl dbop resume " + p.S.Cluster.Name})
	}
	return copies(p.Await("source", from.Text(), members...))
}

// awaitCopies waits until the founding members form one cluster. Where that begins with data, each copies all of it.
func (p Situation) awaitCopies(why string, members []string) *ops.Decision {
	d := p.Await("formed", why, members...)
	if p.S.Cluster.Spec.Source != nil {
		d = copies(d)
	}
	return d
}

// copies gives a wait the time that data takes.
func copies(d *ops.Decision) *ops.Decision {
	if d.Step != nil {
		d.Step.Deadline = StreamDeadline
	}
	return d
}

// Services makes the services of the cluster.
func (p Situation) Services() *ops.Decision {
	c := p.S.Cluster
	step := ops.Step{ID: "create-services", Action: ops.ActionServices, Risk: ops.RiskNone, Deadline: StepDeadline,
		Title: "Create the services", Touches: []string{"service/" + v1alpha1.HeadlessService(c.Name),
			"service/" + v1alpha1.ClientService(c.Name)}}
	if c.Spec.Direct() {
		step.Reason = fmt.Sprintf("clients go straight to the primary: its agent may change service %s, and nothing else",
			v1alpha1.ClientService(c.Name))
		step.Touches = append(step.Touches, accountOf(c.Name)...)
	}
	return Do(step)
}

// staleVolumes refuses to start a cluster beside data of an earlier one, unless
// the request drops that data. After a restore in place the earlier volumes
// are kept on purpose, and only an initial member's own must be new.
func (p Situation) staleVolumes(f v1alpha1.Bootstrap) *ops.Decision {
	var stale []string
	for _, m := range p.S.Kube.Members {
		if m.Volume.Exists && m.Volume.Token != f.Token && (f.InPlace == "" || f.Loaded) &&
			(f.Incarnation == 0 || slices.Contains(f.Members, m.Name)) {
			stale = append(stale, m.Name)
		}
	}
	name := p.S.Cluster.Name
	switch {
	case len(stale) == 0:
		return nil
	case p.S.Operation != nil && p.S.Operation.Spec.Purge:
		return Do(ops.Step{ID: "delete-volumes", Action: ops.ActionDeleteVolume, Members: stale, Risk: ops.RiskIrreversible,
			Deadline: WaitDeadline, Touches: Claims(stale),
			Title:  fmt.Sprintf("Delete %s, which an earlier cluster named %s left", namedVolumes(stale), name),
			Reason: "the data in them is gone for good"})
	}
	hint := fmt.Sprintf(
		"choose another name for the object; or delete it, and take them back: kubectl dbop create %s --from-volumes; "+
			"or, if nobody needs that data, delete them: kubectl dbop create %s --engine %s --discard-volumes; "+
			"then put that cluster under an object: kubectl dbop operator adopt %s", name, name,
		p.S.Cluster.Spec.Engine, name)
	if p.S.Cluster.Annotations[v1alpha1.AnnotationCustom] == "" {
		hint = fmt.Sprintf(
			"take them back: kubectl dbop create %s --from-volumes; or choose another name; or, if nobody needs that data, "+
				"add --discard-volumes", name)
	}
	return Block(&ops.Error{Kind: ops.Refused, Check: "stale-volume", Hint: hint,
		Message: fmt.Sprintf("%s of an earlier cluster named %s may hold its data", namedVolumes(stale), name)})
}

// unstarted lists those members that lack a volume or a workload of this incarnation.
func (p Situation) unstarted(names []string) []string {
	var out []string
	for _, name := range names {
		m := p.S.Kube.Member(name)
		if !m.Volume.Exists || !m.Workload.Exists {
			out = append(out, name)
		}
	}
	return out
}

// Start creates volume, certificate and workload of members.
func (p Situation) Start(names []string, reason string) *ops.Decision {
	touches := make([]string, 0, 2*len(names))
	for _, n := range names {
		touches = append(touches, "persistentvolumeclaim/"+v1alpha1.VolumeName(n), "statefulset/"+n)
	}
	return Do(ops.Step{ID: "start-members/" + strings.Join(names, ","), Action: ops.ActionStart, Members: names,
		Risk: ops.RiskNone, Deadline: StepDeadline,
		Title: "Start " + strings.Join(names, ", "), Reason: reason, Touches: touches})
}

// DisablingBootstrap takes from every workload the ability to found a cluster. It
// restarts nothing: templates are only read when a pod is made again.
func (p Situation) DisablingBootstrap() *ops.Decision {
	var open []string
	for _, m := range p.S.Kube.Members {
		if m.Workload.Exists && m.Workload.Bootstrap && p.S.Ours(m) {
			open = append(open, m.Name)
		}
	}
	if len(open) == 0 {
		return nil
	}
	touches := make([]string, len(open))
	for i, n := range open {
		touches[i] = "statefulset/" + n
	}
	return Do(ops.Step{ID: "disable-bootstrap", Action: ops.ActionDisableBootstrap, Members: open, Risk: ops.RiskNone,
		Deadline: StepDeadline, Touches: touches,
		Title:  "Remove the bootstrap flag from the StatefulSets",
		Reason: "a member that lost its volume must never form a second cluster"})
}

// Conversion says that the data of the backup is converted; "" if it is not.
func (p Situation) Conversion() string {
	target := p.S.Cluster.Spec.Version
	if ops.Converts(p.S.Operation) {
		target = p.S.Operation.Spec.Version
	}
	if p.S.Operation == nil || p.S.Operation.Spec.Source == nil ||
		!engine.Converts(p.E, p.S.Operation.Spec.Source.Version, target) {
		return ""
	}
	return fmt.Sprintf(", and convert its data from %s to %s", p.S.Operation.Spec.Source.Version, target)
}
