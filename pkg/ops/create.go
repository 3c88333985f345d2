package ops

import (
	"fmt"
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
	if d := p.staleVolumes(f); d != nil {
		return d
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
		return do(Step{ID: "create-services", Action: ActionServices, Risk: RiskNone, Deadline: stepDeadline,
			Title:   "Create the services",
			Touches: []string{"service/" + v1alpha1.HeadlessService(p.s.Cluster.Name), "service/" + v1alpha1.ClientService(p.s.Cluster.Name)}})
	}
	if from := p.s.Cluster.Spec.RestoreFrom; from != nil && !f.Loaded {
		return do(Step{ID: "load-backup/" + f.Members[0], Action: ActionLoad, Members: f.Members[:1], Risk: RiskNone, Deadline: streamDeadline,
			Title:   fmt.Sprintf("Load backup %s into the volume of %s", from.Backup, f.Members[0]),
			Touches: []string{"persistentvolumeclaim/" + v1alpha1.VolumeName(f.Members[0])}})
	}
	if missing := p.unstarted(f.Members); len(missing) > 0 {
		return p.start(missing, "found the cluster")
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

// staleVolumes refuses to start a founder on data of an earlier life.
func (p planner) staleVolumes(f v1alpha1.Formation) *Decision {
	for _, name := range f.Members {
		v := p.s.Kube.Member(name).Volume
		if v.Exists && v.Token != f.Token {
			return block(&Error{Kind: Refused, Check: "stale-volume",
				Message: fmt.Sprintf("volume %s of an earlier cluster named %s still exists, and may hold its data", v1alpha1.VolumeName(name), p.s.Cluster.Name),
				Hint:    "choose another name, or drop the old data for good: kubectl delete pvc " + v1alpha1.VolumeName(name) + " -n " + p.s.Cluster.Namespace})
		}
	}
	return nil
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
