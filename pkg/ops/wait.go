package ops

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// How long a problem may last before a person is told. Below it, provisioning
// and first scheduling look like failures; 15 s is what a user is promised.
const patience = 8 * time.Second

// How long a member may crash before a person is told: a joiner that is not
// let in at once exits, and the kubelet's second and third try come 10 and
// 20 s apart.
const crashPatience = 45 * time.Second

// How long an operation that has begun waits for a node: most that are cut off
// come back, and what was begun then comes to its end by itself.
const nodePatience = 2 * time.Minute

// patience says how long the operation in flight waits for a problem to end.
func (p planner) patience(k kube.ProblemKind) time.Duration {
	if k == kube.ProblemNode && p.s.Operation != nil && p.s.Operation.Status.Phase == v1alpha1.PhaseRunning && !p.fresh() {
		return nodePatience
	}
	return patienceFor(k)
}

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

// gate turns an objection into a refusal as long as the request is only
// considered, and into a wait with a reason once it is written down: what was
// fit a moment ago, and is not between two leaders, will be again. An
// objection that wraps engine.ErrNotReady ends by itself, so it is waited out
// by a new request too.
func (p planner) gate(id string, objection error, members ...string) *Decision {
	if objection == nil {
		return nil
	}
	if p.fresh() && !p.writtenDown() && !errors.Is(objection, engine.ErrNotReady) {
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
			switch {
			case problem == nil:
			case p.s.Now.Sub(problem.Since) <= p.patience(problem.Kind):
				if problem.Kind == kube.ProblemNode && !strings.Contains(why, problem.Message) {
					why += "; " + problem.Message
				}
			case p.givesWay(name):
				return block(p.replaceFirst(name))
			default:
				return block(p.stuck(name, *problem))
			}
		}
	}
	why = strings.TrimSuffix(why, ": "+engine.ErrNotReady.Error())
	return &Decision{Why: why, Step: &Step{ID: "wait/" + id, Action: ActionWait, Members: members,
		Title: "Wait until " + waitTitle(id, members), Reason: why, Risk: RiskNone, Deadline: waitDeadline}}
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
	if v1alpha1.MemberNumber(p.s.Cluster.Name, member) == 0 {
		e.Check, e.Message = "unknown-member", member+" is in the member list, and is no member of this cluster"
		e.Hint = fmt.Sprintf("kubectl dbop remove-member %s %s", p.s.Cluster.Name, member)
		return e
	}
	if p.s.Kube.Member(member).Volume.Exists {
		e.Message = member + " is lost, and no other member may restart before it is replaced"
	}
	if !p.s.View.Quorum {
		e.Hint = fmt.Sprintf("kubectl dbop diagnose %s tells what is left and what the way back is", p.s.Cluster.Name)
	} else if op := p.s.Operation; op != nil && p.writtenDown() && !p.givesWay(member) {
		way := wayBack(op, p.s.Cluster)
		if p.s.cancelling() && op.Spec.Verb == v1alpha1.VerbUpgrade || way == "" && !p.leaves(member) {
			way = "kubectl dbop resume " + p.s.Cluster.Name // there is no way back
		}
		if way != "" {
			e.Hint = way + "; then " + e.Hint
		}
	}
	return e
}

// onwards is how what came to a halt goes on once its cause is gone, or ends.
func (p planner) onwards() string {
	again := "repeat the command"
	if p.s.Cluster.Annotations[v1alpha1.AnnotationCustom] != "" {
		again = "it goes on by itself"
	}
	return again + orBack(p.s.Operation, p.s.Cluster)
}

// stuck explains a problem and what a person may do about it.
func (p planner) stuck(member string, problem kube.Problem) *Error {
	hint := cmp.Or(p.s.describe(member), "kubectl dbop status "+p.s.Cluster.Name)
	switch problem.Kind {
	case kube.ProblemImage:
		hint = "check the name of the image, or mirror it; then " + p.onwards()
		if !p.s.formed() {
			hint += " with another --image or --registry"
		}
	case kube.ProblemUnschedulable:
		hint = "make room (nodes, requests, anti-affinity), then " + p.onwards() + "; " + hint
	case kube.ProblemVolume:
		hint = "check the storage class and its provisioner: kubectl describe pvc " + v1alpha1.VolumeName(member)
	case kube.ProblemNode:
		hint = "bring the node back, then " + p.onwards()
		if !p.s.formed() {
			break
		}
		hint = "bring the node back; if it never comes back, its member is to be replaced: " + p.replaceFirst(member).Hint
		if pod := p.s.Kube.Member(member).Pod; onSilentNode(pod) {
			hint = "bring the node back; if it is off for good, " + nodeOff(pod.Node) + ", then replace its member: " + p.replaceFirst(member).Hint
		}
	case kube.ProblemDisk:
		hint = p.s.moreSpace()
	case kube.ProblemGrowth:
		hint = "mend what the storage says, then " + p.onwards()
	case kube.ProblemCrashing, kube.ProblemOOM, kube.ProblemConfig:
		hint = "kubectl dbop logs " + p.s.Cluster.Name + " shows why; then " + p.onwards()
	}
	hint = cmp.Or(p.s.specAdvice(member, problem.Kind), hint)
	return &Error{Kind: NeedsHuman, Check: string(problem.Kind),
		Message: fmt.Sprintf("%s: %s: %s", member, problem.Kind, problem.Message), Hint: hint}
}
