package ops

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// founding brings a cluster into being, once. The founding members and the
// token were written down before the first effect, so whoever continues
// starts the same members with the same words; they come up together, which
// is one election instead of one join after another. When all of them agree,
// the identity is recorded, and from then on nobody may found it again.
func (p planner) founding() *Decision {
	if p.s.formed() {
		return nil
	}
	f := p.s.formation()
	if slices.ContainsFunc(p.s.Kube.Remains, func(o string) bool { return strings.HasPrefix(o, "statefulset/") }) {
		return block(recordMissing(p.s.Cluster.Name)) // that cluster lives, and only its record is lost
	}
	// Volumes first: with them, secrets that are left are those of data that somebody may want back.
	if d := p.staleVolumes(f); d != nil {
		return d
	}
	if left := p.s.Kube.Remains; len(left) > 0 {
		return do(Step{ID: "delete-remains", Action: ActionDeleteRemains, Risk: RiskNone, Deadline: stepDeadline, Touches: left,
			Title: "Delete what an earlier cluster named " + p.s.Cluster.Name + " left"})
	}
	if !p.s.Kube.Certificates && !p.s.Cluster.Spec.TLS.Disabled {
		if t := p.s.Kube.Trust; t != nil && t.GivenProblem != "" {
			return block(&Error{Kind: Refused, Check: "authority", Message: t.GivenProblem,
				Hint: "put certificate and key of an authority into secret " + p.s.Cluster.Spec.TLS.CASecret + " (kubectl create secret tls); then repeat the command"})
		}
		title, deadline := "Create a certificate authority and client certificates", stepDeadline
		if i := p.s.Cluster.Spec.TLS.Issuer; i != nil {
			title, deadline = fmt.Sprintf("Have %s sign a certificate authority, and create client certificates", i), waitDeadline
		}
		return do(Step{ID: "create-certificates", Action: ActionCertificates, Risk: RiskNone, Deadline: deadline, Title: title,
			Touches: []string{"secret/" + v1alpha1.CASecret(p.s.Cluster.Name), "secret/" + v1alpha1.AdminSecret(p.s.Cluster.Name), "secret/" + v1alpha1.ClientSecret(p.s.Cluster.Name)}})
	}
	if p.s.verb() == v1alpha1.VerbCreate && p.s.Cluster.Spec.Auth.Enabled && p.s.fact(v1alpha1.FactCredentials) == "" {
		return p.credentials("whoever waits for one to mount it need not wait for the cluster; " + eachOfItsOwn)
	}
	if !p.s.Kube.Services {
		return p.services()
	}
	if from := p.s.Cluster.Spec.RestoreFrom; from != nil && !f.Loaded {
		return do(Step{ID: "load-backup/" + f.Members[0], Action: ActionLoad, Members: f.Members[:1], Risk: RiskNone, Deadline: streamDeadline,
			Title:   fmt.Sprintf("Load backup %s into the volume of %s", from.Backup, f.Members[0]),
			Touches: []string{"persistentvolumeclaim/" + v1alpha1.VolumeName(f.Members[0])}})
	}
	if missing := p.unstarted(f.Members); len(missing) > 0 {
		return p.start(missing, "found the cluster")
	}
	if d := p.correction(f.Members); d != nil {
		return d
	}
	for _, name := range f.Members {
		if err := p.e.Health(p.s.View, name); err != nil {
			return p.await("formed", err.Error(), f.Members...)
		}
	}
	if len(p.s.View.Voters()) != len(f.Members) {
		return p.await("formed", fmt.Sprintf("%d of %d members vote", len(p.s.View.Voters()), len(f.Members)), f.Members...)
	}
	return do(Step{ID: "record-formation", Action: ActionRecordFormed, Risk: RiskNone, Deadline: stepDeadline,
		Title: "Record the cluster's identity", Reason: "from here on members only ever join"})
}

func (p planner) services() *Decision {
	return do(Step{ID: "create-services", Action: ActionServices, Risk: RiskNone, Deadline: stepDeadline, Title: "Create the services",
		Touches: []string{"service/" + v1alpha1.HeadlessService(p.s.Cluster.Name), "service/" + v1alpha1.ClientService(p.s.Cluster.Name)}})
}

// staleVolumes refuses to start a cluster beside data of an earlier one, unless
// the request drops that data. After a restore in place the earlier volumes
// are kept on purpose, and only a founder's own must be new.
func (p planner) staleVolumes(f v1alpha1.Formation) *Decision {
	var stale []string
	for _, m := range p.s.Kube.Members {
		if m.Volume.Exists && m.Volume.Token != f.Token && (f.Epoch == 0 || slices.Contains(f.Members, m.Name)) {
			stale = append(stale, m.Name)
		}
	}
	name := p.s.Cluster.Name
	switch {
	case len(stale) == 0:
		return nil
	case p.s.verb() == v1alpha1.VerbCreate && p.s.Operation.Spec.Purge:
		return do(Step{ID: "delete-volumes", Action: ActionDeleteVolume, Members: stale, Risk: RiskIrreversible, Deadline: waitDeadline, Touches: claims(stale),
			Title: fmt.Sprintf("Delete %s, which an earlier cluster named %s left", namedVolumes(stale), name), Reason: "the data in them is gone for good"})
	}
	hint := fmt.Sprintf("choose another name for the object; or delete it, and take them back: kubectl dbop create %s --from-volumes; "+
		"or, if nobody needs that data, delete them: kubectl dbop create %s --engine %s --discard-volumes; "+
		"then put that cluster under an object: kubectl dbop operator adopt %s", name, name, p.s.Cluster.Spec.Engine, name)
	if p.s.Cluster.Annotations[v1alpha1.AnnotationCustom] == "" {
		hint = fmt.Sprintf("take them back: kubectl dbop create %s --from-volumes; or choose another name; or, if nobody needs that data, add --discard-volumes", name)
	}
	return block(&Error{Kind: Refused, Check: "stale-volume", Hint: hint,
		Message: fmt.Sprintf("%s of an earlier cluster named %s may hold its data", namedVolumes(stale), name)})
}

// namedVolumes names the volumes of members.
func namedVolumes(members []string) string {
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = v1alpha1.VolumeName(m)
	}
	if len(names) == 1 {
		return "volume " + names[0]
	}
	return "volumes " + strings.Join(names, ", ")
}

// unstarted lists those members that lack a volume or a workload of this epoch.
func (p planner) unstarted(names []string) []string {
	var out []string
	for _, name := range names {
		m := p.s.Kube.Member(name)
		if !m.Volume.Exists || !m.Workload.Exists {
			out = append(out, name)
		}
	}
	return out
}

// start creates volume, certificate and workload of members.
func (p planner) start(names []string, reason string) *Decision {
	touches := make([]string, 0, 2*len(names))
	for _, n := range names {
		touches = append(touches, "persistentvolumeclaim/"+v1alpha1.VolumeName(n), "statefulset/"+n)
	}
	return do(Step{ID: "start-members/" + strings.Join(names, ","), Action: ActionStart, Members: names, Risk: RiskNone, Deadline: stepDeadline,
		Title: "Start " + strings.Join(names, ", "), Reason: reason, Touches: touches})
}

// sealing takes from every workload the ability to found a cluster. It
// restarts nothing: templates are only read when a pod is made anew.
func (p planner) sealing() *Decision {
	var open []string
	for _, m := range p.s.Kube.Members {
		if m.Workload.Exists && m.Workload.Bootstrap && p.s.ours(m) {
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
	return do(Step{ID: "seal-members", Action: ActionSeal, Members: open, Risk: RiskNone, Deadline: stepDeadline, Touches: touches,
		Title: "Seal the members' workloads", Reason: "a member that lost its volume must never found a second cluster"})
}
