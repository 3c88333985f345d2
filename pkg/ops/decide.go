package ops

import (
	"cmp"
	"fmt"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// Decide says what comes next: one step, one wait, a block, or nothing. It is
// pure and total; every driver asks it, and only it. The families are asked in
// an order of safety: identity before anything else, a half-made cluster before
// its members, an interrupted join before a new one, versions before size.
func Decide(e engine.Engine, s State) Decision {
	p := planner{e: e, s: s}
	if s.Cluster == nil {
		return Decision{Done: true}
	}
	for _, family := range []func() *Decision{
		p.paused,
		p.identity,
		p.deletion,
		p.restoreInPlace,
		p.recovery,
		p.founding,
		p.sealing,
		p.certificates,
		p.stopping,
		p.starting,
		p.backup,
		p.growing,
		p.authentication,
		p.userChange,
		p.rotation,
		p.mending,
		p.replace,
		p.joining,
		p.leaving,
		p.upgrade,
		p.reconfigure,
		p.downgrade,
		p.mayResize,
		p.budget,
		p.size,
		p.switchover,
		p.restart,
		p.defragment,
		p.healthy,
	} {
		if d := family(); d != nil {
			return *d
		}
	}
	return Decision{Done: true}
}

// planner is one question to the planner.
type planner struct {
	e engine.Engine
	s State
}

// How long a problem may last before a person is told. Below it, provisioning
// and first scheduling look like failures; 15 s is what a user is promised.
const patience = 8 * time.Second

// How long a member may crash before a person is told: a joiner whose own
// name is not in DNS yet is turned away by its peers and exits, and the
// kubelet's second and third try come 10 and 20 s apart.
const crashPatience = 45 * time.Second

// patienceFor says how long a problem may last.
func patienceFor(k kube.ProblemKind) time.Duration {
	switch k {
	case kube.ProblemCrashing, kube.ProblemDisk:
		return crashPatience
	}
	return patience
}

// The default bounds of a step and of a wait.
const (
	stepDeadline   = time.Minute
	waitDeadline   = 3 * time.Minute
	streamDeadline = 2 * time.Hour
	// mountDeadline is for a kubelet that brings a changed secret into a pod in
	// its own time: its period and its cache's are a minute or more each.
	mountDeadline = 5 * time.Minute
)

// identity stops everything where it is unclear whose data this is.
func (p planner) identity() *Decision {
	if len(p.s.Kube.Foreign) > 0 {
		return block(&Error{Kind: Refused, Check: "foreign-objects",
			Message: fmt.Sprintf("%v bear names of cluster %s but do not belong to it", p.s.Kube.Foreign, p.s.Cluster.Name),
			Hint:    "choose another name, or remove these objects if nobody needs them"})
	}
	if p.s.verb() == v1alpha1.VerbDelete {
		return nil
	}
	if len(p.s.View.ClusterIDs) > 1 {
		return block(&Error{Kind: NeedsHuman, Check: "split",
			Message: fmt.Sprintf("the members of %s belong to different database clusters (%v): this is a split, and going on could lose data", p.s.Cluster.Name, p.s.View.ClusterIDs),
			Hint:    "kubectl dbop status " + p.s.Cluster.Name + " -o wide shows which member belongs to which"})
	}
	if want := p.s.formation().ClusterID; want != "" {
		for _, id := range p.s.View.ClusterIDs {
			if id != want {
				return block(&Error{Kind: NeedsHuman, Check: "cluster-id",
					Message: fmt.Sprintf("the members of %s say cluster ID %s, but %s was recorded when it formed", p.s.Cluster.Name, id, want),
					Hint:    "find out who replaced the data before anything else is done"})
			}
		}
	}
	return nil
}

// budget keeps the disruption budget at the quorum of the larger of now and
// soon: evictions by others must not undercut a size that is being reached.
// Without a member list that a majority stands behind it stays as it is.
func (p planner) budget() *Decision {
	if !p.s.View.Quorum {
		return nil
	}
	n := max(int(p.s.Cluster.Spec.Members), len(p.s.View.Voters()))
	var want int32
	if n > 1 {
		want = int32(n/2 + 1) // #nosec G115 -- a cluster's size fits
	}
	var have int32
	if p.s.Kube.Budget != nil {
		have = *p.s.Kube.Budget
	}
	if want == have {
		return nil
	}
	title := fmt.Sprintf("Let evictions leave at least %d members", want)
	if want == 0 {
		title = "Drop the disruption budget: one member can't have one"
	}
	return do(Step{ID: "set-budget", Action: ActionBudget, Title: title, Risk: RiskNone, Budget: want,
		Touches: []string{"poddisruptionbudget/" + p.s.Cluster.Name}, Deadline: stepDeadline})
}

// healthy is the last word of every operation that touches members: not
// before all of them say so. One that is being stepped back must come to an
// end even if a member is lost for good, or it would bar the way to its
// replacement.
func (p planner) healthy() *Decision {
	if v := p.s.verb(); v == v1alpha1.VerbBackup || v == v1alpha1.VerbSwitchover || p.s.cancelling() {
		return nil
	}
	for _, r := range p.s.View.Voters() {
		if err := p.e.Health(p.s.View, r.Name); err != nil {
			d := p.await("healthy", err.Error(), r.Name)
			if m := p.s.Kube.Member(r.Name); !m.Volume.Exists && !m.Workload.Exists {
				d = block(p.replaceFirst(r.Name))
			}
			if d.Blocked != nil && p.noWayBack() && p.lost(r.Name) {
				continue
			}
			return d
		}
	}
	return nil
}

// noWayBack reports whether the operation can't be stepped back. It must not
// bar the way to the replacement of a member that was lost meanwhile: what it
// was asked for is reached.
func (p planner) noWayBack() bool {
	switch p.s.verb() {
	case v1alpha1.VerbCreate, v1alpha1.VerbRestore, v1alpha1.VerbRemoveMember, v1alpha1.VerbReplaceMember, v1alpha1.VerbStart, v1alpha1.VerbRecover:
		return p.s.View.Quorum
	}
	return false
}

// lost reports whether a member's problem is one that a replacement mends.
func (p planner) lost(member string) bool {
	m := p.s.Kube.Member(member)
	if !m.Volume.Exists {
		return true
	}
	return m.Pod.Problem != nil && (m.Pod.Problem.Kind == kube.ProblemCrashing || m.Pod.Problem.Kind == kube.ProblemNode)
}

// fresh reports whether the operation in flight has done nothing yet, so that
// an objection is a refusal rather than a pause.
func (p planner) fresh() bool {
	return p.s.Operation != nil && len(p.s.Operation.Status.Journal) == 0
}

// writtenDown reports whether the operation in flight is a record already, and
// not only looked at.
func (p planner) writtenDown() bool { return p.s.Operation.ResourceVersion != "" }

// gate turns an objection into a refusal as long as the request is only
// considered, and into a wait with a reason once it is written down: what was
// fit a moment ago, and is not between two leaders, will be again.
func (p planner) gate(id string, objection error, members ...string) *Decision {
	if objection == nil {
		return nil
	}
	if p.fresh() && !p.writtenDown() {
		e := refused(objection)
		e.Check = cmp.Or(e.Check, id)
		e.Hint = cmp.Or(e.Hint, "kubectl dbop diagnose "+p.s.Cluster.Name+" says what to do about it")
		return block(e)
	}
	return p.await(id, objection.Error(), members...)
}

// await is a wait step, unless one of the members has a problem that waiting won't mend.
func (p planner) await(id, why string, members ...string) *Decision {
	for _, name := range members {
		if p.leaves(name) {
			continue
		}
		m := p.s.Kube.Member(name)
		if p.s.bereft(m) {
			return block(p.replaceFirst(name))
		}
		for _, problem := range []*kube.Problem{m.Volume.Problem, m.Pod.Problem} {
			if problem != nil && p.s.Now.Sub(problem.Since) > patienceFor(problem.Kind) {
				return block(p.stuck(name, *problem))
			}
		}
	}
	return &Decision{Why: why, Step: &Step{ID: "wait/" + id, Action: ActionWait, Members: members,
		Title: "Wait until " + waitTitle(id, members), Reason: why, Risk: RiskNone, Deadline: waitDeadline}}
}

// leaves reports whether the member goes with this operation, whatever its problem.
func (p planner) leaves(name string) bool {
	verb := p.s.verb()
	if verb != v1alpha1.VerbRemoveMember && verb != v1alpha1.VerbReplaceMember || p.s.Operation.Spec.Member != name {
		return false
	}
	entry, registered := p.s.View.Registered(name)
	if !registered {
		return !p.s.View.Quorum
	}
	return verb == v1alpha1.VerbRemoveMember || entry.ID == p.s.Operation.Spec.MemberID
}

func waitTitle(id string, members []string) string {
	switch id {
	case "formed":
		return "all founding members form one cluster"
	case "quorum":
		return "a majority answers"
	case "healthy":
		return fmt.Sprintf("%s is a healthy member", members[0])
	case "joined":
		return fmt.Sprintf("%s has started and catches up", members[0])
	case "grown":
		return fmt.Sprintf("the volume of %s has grown", members[0])
	case "may-add":
		return "the cluster is fit for another member"
	case "may-remove":
		return "the cluster is fit for a member less"
	case "may-upgrade":
		return "the cluster is fit for the upgrade"
	case "upgraded":
		return "the whole cluster speaks the new version"
	case "may-downgrade":
		return "the cluster is fit for the downgrade"
	case "lowered":
		return "every member speaks and writes what the older version understands"
	case "versions-agree":
		return "members, protocol and data are of one version"
	default:
		return id
	}
}

// replaceFirst says that nothing but a replacement mends a member. What is in
// flight has to end before another operation begins.
func (p planner) replaceFirst(member string) *Error {
	e := &Error{Kind: NeedsHuman, Check: "lost", Message: member + " is a member and its volume is gone, and its copy of the data with it",
		Hint: fmt.Sprintf("kubectl dbop replace-member %s %s", p.s.Cluster.Name, member)}
	if !p.s.View.Quorum {
		e.Hint = fmt.Sprintf("kubectl dbop diagnose %s tells what is left and what the way back is", p.s.Cluster.Name)
	} else if op := p.s.Operation; op != nil && p.writtenDown() && cancellable(op) == nil {
		e.Hint = fmt.Sprintf("kubectl dbop cancel %s; then %s", p.s.Cluster.Name, e.Hint)
	}
	return e
}

// stuck explains a problem and what a person may do about it.
func (p planner) stuck(member string, problem kube.Problem) *Error {
	hint := "kubectl describe pod " + v1alpha1.PodName(member) + " -n " + p.s.Cluster.Namespace
	switch problem.Kind {
	case kube.ProblemImage:
		hint = "check the image name, or mirror it and pass --registry; then repeat the command"
	case kube.ProblemUnschedulable:
		hint = "make room (nodes, requests, anti-affinity), then repeat the command; kubectl describe pod " + v1alpha1.PodName(member)
	case kube.ProblemVolume:
		hint = "check the storage class and its provisioner: kubectl describe pvc " + v1alpha1.VolumeName(member)
	case kube.ProblemNode:
		hint = "bring the node back, then repeat the command; if it never comes back, its member is to be replaced: " + p.replaceFirst(member).Hint
	case kube.ProblemDisk:
		hint = "give it more space: kubectl dbop resize " + p.s.Cluster.Name + " --storage SIZE"
	case kube.ProblemGrowth:
		hint = "mend what the storage says, then repeat the command; or step back: kubectl dbop cancel " + p.s.Cluster.Name
	case kube.ProblemCrashing, kube.ProblemOOM, kube.ProblemConfig:
		hint = "kubectl dbop logs " + p.s.Cluster.Name + " shows why; then repeat the command, or step back: kubectl dbop cancel " + p.s.Cluster.Name
	}
	return &Error{Kind: NeedsHuman, Check: string(problem.Kind),
		Message: fmt.Sprintf("%s: %s: %s", member, problem.Kind, problem.Message), Hint: hint}
}

func block(e *Error) *Decision { return &Decision{Blocked: e} }

func do(s Step) *Decision { return &Decision{Step: &s} }
