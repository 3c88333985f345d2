package health

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// memberList searches for entries that should not last: learners, members that never
// started, and what exists of members that the database does not count.
func (d *Examination) memberList() {
	if !d.S.View.Quorum {
		return
	}
	before := len(d.Findings)
	for _, r := range d.S.View.MemberList {
		subject := "member " + r.Name
		switch {
		case v1alpha1.MemberNumber(d.name, r.Name) == 0:
			d.add(UnknownFinding(d.S, r))
		case !r.Started && r.Voter:
			d.add(ops.Finding{Severity: ops.Fail, Subject: subject,
				What:     "it has a vote and never started: it counts against the quorum",
				Evidence: []string{"registered as " + cmp.Or(r.Address, r.ID)},
				Remedy:   d.settle("kubectl dbop member remove " + d.name + " " + r.Name)})
		case !r.Voter && !r.Spare:
			d.add(ops.Finding{Severity: ops.Warn, Subject: subject, What: "it is " + unfinished(r) + " and has no vote",
				Remedy: d.settle(fmt.Sprintf("kubectl dbop scale %s --members %d", d.name, d.S.Cluster.Spec.Members))})
		}
	}
	for _, m := range d.S.Kube.Members {
		if _, registered := d.S.View.Registered(m.Name); registered || !d.S.Ours(m) {
			continue
		}
		f := ops.Finding{Severity: ops.Warn, Subject: "member " + m.Name,
			What:     "objects of it are left, but the database does not count it as a member",
			Evidence: []string{leftovers(m)}, Remedy: d.settle(fmt.Sprintf("kubectl dbop scale %s --members %d", d.name,
				d.S.Cluster.Spec.Members))}
		if !d.verbs.Removes(d.S, m.Name) {
			f.Evidence = append(f.Evidence, "nobody asked this tool to remove it, so its volume is kept")
			f.Remedy = []string{d.verbs.Afterwards(d.S, v1alpha1.VerbRemoveMember,
				"if nobody needs its volume: kubectl dbop member remove "+d.name+" "+m.Name)}
		}
		d.add(f)
	}
	if len(d.Findings) == before {
		d.add(ops.Finding{Severity: ops.OK, Subject: "member list",
			What: fmt.Sprintf("%d entries, all with a vote and started", len(d.S.View.MemberList))})
	}
}

// settle is how something half done is finished: by the one that began it, else as given.
func (d *Examination) settle(otherwise string) []string {
	if d.S.Operation != nil {
		return []string{"kubectl dbop resume " + d.name}
	}
	return []string{otherwise}
}

func unfinished(r engine.Registered) string {
	if !r.Started {
		return "registered, has not started yet"
	}
	return "a learner"
}

// remains lists what exists of a member.
func leftovers(m observe.Member) string {
	var out []string
	if m.Volume.Exists {
		out = append(out, "persistentvolumeclaim/"+v1alpha1.VolumeName(m.Name))
	}
	if m.Workload.Exists {
		out = append(out, "statefulset/"+m.Name)
	}
	return strings.Join(out, ", ")
}

// member examines one member by itself, gravest cause first: without its
// volume nothing else matters, and a pod's own problem explains its silence.
func (d *Examination) member(name string) {
	m, said := d.S.Kube.Member(name), d.S.View.Member(name)
	entry, registered := d.S.View.Registered(name)
	if d.S.View.Quorum && (!registered || !entry.Voter || !entry.Started) {
		return // memberList spoke of it
	}
	f := ops.Finding{Severity: ops.Fail, Subject: "member " + name}
	health := d.e.Health(d.S.View, name)
	switch problem := firstProblem(m.Pod.Problem, m.Volume.Problem); {
	case !m.Volume.Exists:
		f = d.volumeGone(name)
	case m.Volume.Terminating:
		f.What = "its volume is being deleted, and goes when the pod stops"
		f.Remedy = []string{d.replace(name)}
	case problem != nil:
		f.What, f.Evidence = cause(problem.Kind), []string{problem.Message, "since " + ops.Moment(problem.Since)}
		f.Remedy = d.mend(name, problem.Kind)
		d.explain(&f, name, *problem)
	case !m.Workload.Exists:
		f.What, f.Remedy = "its workload is gone; its volume exists, so nothing is lost", d.revive(name)
	case !m.Pod.Exists:
		f.What, f.Remedy = "it has no pod; its volume exists, so nothing is lost", d.revive(name)
	case !m.Pod.Running || m.Pod.Terminating:
		f.Severity, f.What = ops.Warn, cmp.Or(said.Problem, "its pod is not running yet")
		f.Remedy = []string{"wait, or see kubectl describe pod " + v1alpha1.PodName(name)}
	case !said.Reachable:
		f.What, f.Evidence = "its pod runs, but it does not answer", evidence(said.Problem)
		f.Remedy = []string{"kubectl dbop logs " + d.name}
	case health == nil:
		f.Severity, f.What, f.Evidence = ops.OK, "reached and healthy", d.vitals(m, said)
	case !d.Serves && said.Problem == "" && len(said.Alarms) == 0:
		f.Severity, f.What = ops.Warn, "it answers, and waits for the others"
	default:
		f.What, f.Evidence = health.Error(), d.vitals(m, said)
		f.Remedy = []string{"kubectl dbop logs " + d.name}
		if said.Disk.Full() {
			f.Remedy = append([]string{d.moreRoom(said)}, f.Remedy...)
		}
	}
	d.add(f)
}

// explain adds what the engine makes of a crash; its word is worth more than
// the general advice.
func (d *Examination) explain(f *ops.Finding, name string, problem observe.Problem) {
	explainer, ok := d.e.(engine.Explainer)
	if !ok || problem.Kind != observe.ProblemCrashing {
		return
	}
	advice, known := explainer.Explain(d.S.Cluster, name, problem.Message)
	if !known {
		return
	}
	f.What += ": " + advice.Meaning
	f.Remedy = append(advice.Remedy, "kubectl dbop logs "+d.name)
	if way := d.verbs.WayBack(d.S.Operation, d.S.Cluster); way != "" {
		f.Remedy = append([]string{"step back: " + way}, f.Remedy...)
	}
}

func evidence(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

// hasVolume reports whether the member's volume of this incarnation exists and stays.
func (d *Examination) hasVolume(name string) bool {
	v := d.S.Kube.Member(name).Volume
	lost := v.Problem != nil && !v.Bound // a claim whose volume is gone, or never was
	return v.Exists && !v.Terminating && !lost && v.Token == d.S.Bootstrap().Token
}

func (d *Examination) volumeGone(name string) ops.Finding {
	f := ops.Finding{Severity: ops.Fail, Subject: "member " + name,
		What:     "its volume is gone, and its copy of the data with it",
		Evidence: []string{"there is no persistentvolumeclaim/" + v1alpha1.VolumeName(name)},
		Remedy:   []string{d.replace(name)}}
	if !d.S.View.Quorum && d.e.Capabilities().Quorum {
		f.Remedy = []string{"first the quorum, see above"}
	}
	return f
}

func (d *Examination) replace(name string) string {
	return d.verbs.Afterwards(d.S, v1alpha1.VerbReplaceMember,
		fmt.Sprintf("kubectl dbop member replace %s %s", d.name, name))
}

// revive is what gives a member with a volume its pod.
func (d *Examination) revive(name string) []string {
	m := d.S.Kube.Member(name)
	switch problem := firstProblem(m.Pod.Problem, m.Volume.Problem); {
	case problem != nil:
		return d.mend(name, problem.Kind)
	case !m.Workload.Exists && d.S.Operation != nil:
		return []string{"kubectl dbop resume " + d.name}
	case !m.Workload.Exists:
		return []string{"kubectl dbop start " + d.name}
	case !m.Pod.Exists:
		return []string{"kubectl scale statefulset " + name + " --replicas=1"}
	}
	return []string{Describe(d.S, name)}
}

// cause says a kind of problem in words.
func cause(k observe.ProblemKind) string {
	switch k {
	case observe.ProblemImage:
		return "its image can't be pulled"
	case observe.ProblemUnschedulable:
		return "no node takes its pod"
	case observe.ProblemVolume:
		return "its volume can't be had"
	case observe.ProblemCrashing:
		return "it crashes again and again"
	case observe.ProblemOOM:
		return "it is killed because it ran out of memory"
	case observe.ProblemDisk:
		return "its disk is full, and it can't start; its data is not lost"
	case observe.ProblemNode:
		return "its node is lost"
	case observe.ProblemForbidden:
		return "its pod is refused"
	default:
		return "it can't start"
	}
}

// mend is what to do about a kind of problem. Only for a crash, and a node
// that never returns, is replacing the member an answer.
func (d *Examination) mend(name string, k observe.ProblemKind) []string {
	describe := cmp.Or(Describe(d.S, name), "kubectl dbop status "+d.name)
	switch k {
	case observe.ProblemImage:
		return []string{"make the image available, by a mirror or a pull secret: kubectl dbop engines -o wide lists the " +
			"images", describe}
	case observe.ProblemUnschedulable:
		return []string{"make room: nodes (one that is cordoned: kubectl uncordon), requests, anti-affinity, a volume that " +
			"is bound to one node", describe}
	case observe.ProblemVolume:
		return []string{"check the storage class and its provisioner: kubectl describe pvc " + v1alpha1.VolumeName(name)}
	case observe.ProblemCrashing:
		logs := "kubectl dbop logs " + d.name
		if !d.S.Formed() {
			return []string{logs} // there is nothing yet that a new member could have a copy of
		}
		return []string{logs, "if they show that its data is damaged, and a majority is well: " + d.replace(name)}
	case observe.ProblemDisk:
		return []string{d.verbs.MoreSpace(d.S) + "; a new volume of the same size would not help"}
	case observe.ProblemOOM:
		return []string{"give it more memory; a new volume would not help"}
	case observe.ProblemNode:
		back := "bring the node back; its volume may exist only there"
		pod := d.S.Kube.Member(name).Pod
		switch {
		case !d.S.Formed():
			return []string{back}
		case OnSilentNode(pod):
			return []string{back, "if it is off for good, " + NodeOff(pod.Node),
				"if its volume was only there, and a majority is well, after that: " + d.replace(name)}
		}
		return []string{back, "if it never comes back, and a majority is well: " + d.replace(name)}
	case observe.ProblemForbidden:
		return []string{"ask an administrator about the quota or policy that is named", describe}
	default:
		return []string{describe}
	}
}

// vitals is what was seen of a member that answers.
func (d *Examination) vitals(m observe.Member, said engine.Member) []string {
	text := fmt.Sprintf("%s, version %s, on node %s, %d restarts", said.Role, cmp.Or(said.Version, "unknown"),
		cmp.Or(m.Pod.Node, "unknown"), m.Pod.Restarts)
	return append([]string{text}, evidence(d.lag(said))...)
}

// lag compares a member with the leader; how far is too far is Health's business.
func (d *Examination) lag(m engine.Member) string {
	leader, ok := d.S.View.Leader()
	if !ok || m.Position == "" || leader.Position == "" || m.Name == leader.Name {
		return ""
	}
	switch order, ok := d.e.Compare(m.Position, leader.Position); {
	case !ok:
		return fmt.Sprintf("its position %s can't be compared with the leader's %s", m.Position, leader.Position)
	case order < 0:
		return fmt.Sprintf("behind the leader: %s, leader %s", m.Position, leader.Position)
	}
	return "level with the leader"
}

// OnSilentNode reports whether a pod has a node, and that is lost.
func OnSilentNode(pod observe.Pod) bool {
	return pod.Node != "" && pod.Problem != nil && pod.Problem.Kind == observe.ProblemNode
}

// NodeOff is how a person tells Kubernetes that a node never comes back.
func NodeOff(node string) string {
	return "tell Kubernetes so: kubectl delete node " + node
}
