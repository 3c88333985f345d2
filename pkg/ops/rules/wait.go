package rules

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/workload"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
)

// How long a problem may last before a person is told. Below it, provisioning
// and first scheduling resemble failures; 15 s is what a user is promised.
const Limit = 8 * time.Second

// How long a member may crash before a person is told: a joiner that is not
// let in at once exits, and the kubelet's second and third try come 10 and
// 20 s apart.
const CrashLimit = 45 * time.Second

// How long an operation that has started waits for a node: most that are cut off
// come back, and what was started then comes to its end by itself.
const nodePatience = 2 * time.Minute

// limit says how long the operation in flight waits for a problem to end.
func (p Situation) limit(k observe.ProblemKind) time.Duration {
	if k == observe.ProblemNode && p.S.Operation != nil && p.S.Operation.Status.Phase == v1alpha1.PhaseRunning &&
		!p.Fresh() {
		return nodePatience
	}
	return patienceFor(k)
}

// patienceFor says how long a problem may last.
func patienceFor(k observe.ProblemKind) time.Duration {
	switch k {
	case observe.ProblemCrashing, observe.ProblemDisk:
		return CrashLimit
	}
	return Limit
}

// The default bounds of a step and of a wait.
const (
	StepDeadline = time.Minute
	WaitDeadline = 3 * time.Minute
	// LongDeadline is for what takes long and moves no bytes that anybody could watch.
	LongDeadline = 2 * time.Hour
	// StreamDeadline is for what moves data: who moves it finds that it came to a standstill.
	StreamDeadline = workload.LongestStream
	// mountDeadline is for a kubelet that brings a changed secret into a pod in
	// its own time: its period and its cache's are a minute or more each.
	mountDeadline = 5 * time.Minute
)

// Gate returns an objection as a refusal as long as the request is only
// considered, and into a wait with a reason once it is written down: what was
// fit a moment ago, and is not between two leaders, will be again. An
// objection that wraps engine.ErrNotReady ends by itself, so it is waited out
// by a new request too.
func (p Situation) Gate(id string, objection error, members ...string) *ops.Decision {
	if objection == nil {
		return nil
	}
	if p.Fresh() && !p.writtenDown() && !errors.Is(objection, engine.ErrNotReady) {
		e := ops.Refusal(objection)
		e.Check = cmp.Or(e.Check, id)
		e.Hint = cmp.Or(e.Hint, "kubectl dbop diagnose "+p.S.Cluster.Name+" says what to do about it")
		return Block(e)
	}
	return p.Await(id, objection.Error(), members...)
}

// Await is a wait step, unless one of the members has a problem that waiting won't mend.
func (p Situation) Await(id, why string, members ...string) *ops.Decision {
	for _, name := range members {
		if p.leaves(name) {
			continue
		}
		m := p.S.Kube.Member(name)
		if p.S.VolumeMissing(m) {
			return Block(p.replaceFirst(name))
		}
		for _, problem := range []*observe.Problem{m.Volume.Problem, m.Pod.Problem} {
			switch {
			case problem == nil:
			case p.S.Now.Sub(problem.Since) <= p.limit(problem.Kind):
				if problem.Kind == observe.ProblemNode && !strings.Contains(why, problem.Message) {
					why += "; " + problem.Message
				}
			case p.GivesWay(name):
				return Block(p.replaceFirst(name))
			default:
				return Block(p.Stuck(name, *problem))
			}
		}
	}
	why = strings.TrimSuffix(why, ": "+engine.ErrNotReady.Error())
	return &ops.Decision{Why: why, Step: &ops.Step{ID: "wait/" + id, Action: ops.ActionWait, Members: members,
		Title: "Wait until " + waitTitle(id, members), Reason: why, Risk: ops.RiskNone, Deadline: WaitDeadline}}
}

func waitTitle(id string, members []string) string {
	switch id {
	case "formed":
		return "all founding members form one cluster"
	case "source":
		return "the source is followed"
	case "quorum":
		return "a majority answers"
	case "healthy":
		return fmt.Sprintf("%s is a healthy member", members[0])
	case "joined":
		if len(members) > 1 {
			return strings.Join(members, ", ") + " have started and catch up"
		}
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
func (p Situation) replaceFirst(member string) *ops.Error {
	e := &ops.Error{Kind: ops.NeedsHuman, Check: "lost", Message: member +
		" is a member and its volume is gone, and its copy of the data with it",
		Hint: fmt.Sprintf("kubectl dbop member replace %s %s", p.S.Cluster.Name, member)}
	if v1alpha1.MemberNumber(p.S.Cluster.Name, member) == 0 {
		e.Check, e.Message = "unknown-member", member+" is in the member list, and is no member of this cluster"
		e.Hint = fmt.Sprintf("kubectl dbop member remove %s %s", p.S.Cluster.Name, member)
		return e
	}
	if p.S.Kube.Member(member).Volume.Exists {
		e.Message = member + " is lost, and no other member may restart before it is replaced"
	}
	if !p.S.View.Quorum {
		e.Hint = fmt.Sprintf("kubectl dbop diagnose %s tells what is left and what the way back is", p.S.Cluster.Name)
	} else if op := p.S.Operation; op != nil && p.writtenDown() && !p.GivesWay(member) {
		way := p.Verbs.WayBack(op, p.S.Cluster)
		if p.S.Cancelling() && p.Traits.StaysOpen != nil || way == "" && !p.leaves(member) {
			way = "kubectl dbop resume " + p.S.Cluster.Name // there is no way back
		}
		if way != "" {
			e.Hint = way + "; then " + e.Hint
		}
	}
	return e
}

// onwards is how what came to a halt goes on once its cause is gone, or ends.
func (p Situation) onwards() string {
	again := "repeat the command"
	if p.S.Cluster.Annotations[v1alpha1.AnnotationCustom] != "" {
		again = "it goes on by itself"
	}
	return again + p.Verbs.OrBack(p.S.Operation, p.S.Cluster)
}

// Stuck explains a problem and what a person may do about it.
func (p Situation) Stuck(member string, problem observe.Problem) *ops.Error {
	hint := cmp.Or(health.Describe(p.S, member), "kubectl dbop status "+p.S.Cluster.Name)
	switch problem.Kind {
	case observe.ProblemImage:
		hint = "check the name of the image, or mirror it; then " + p.onwards()
		if !p.S.Formed() {
			hint += " with another --image or --registry"
		}
	case observe.ProblemUnschedulable:
		hint = "make room (nodes, requests, anti-affinity), then " + p.onwards() + "; " + hint
	case observe.ProblemVolume:
		hint = "check the storage class and its provisioner: kubectl describe pvc " + v1alpha1.VolumeName(member)
	case observe.ProblemNode:
		hint = "bring the node back, then " + p.onwards()
		if !p.S.Formed() {
			break
		}
		hint = "bring the node back; if it never comes back, its member is to be replaced: " + p.replaceFirst(member).Hint
		if pod := p.S.Kube.Member(member).Pod; health.OnSilentNode(pod) {
			hint = "bring the node back; if it is off for good, " + health.NodeOff(pod.Node) + ", then replace its member: " +
				p.replaceFirst(member).Hint
		}
	case observe.ProblemDisk:
		hint = p.Verbs.MoreSpace(p.S)
	case observe.ProblemGrowth:
		hint = "mend what the storage says, then " + p.onwards()
	case observe.ProblemCrashing, observe.ProblemOOM, observe.ProblemConfig:
		hint = "kubectl dbop logs " + p.S.Cluster.Name + " shows why; then " + p.onwards()
	}
	hint = cmp.Or(p.specAdvice(member, problem.Kind), hint)
	return &ops.Error{Kind: ops.NeedsHuman, Check: string(problem.Kind),
		Message: fmt.Sprintf("%s: %s: %s", member, problem.Kind, problem.Message), Hint: hint}
}
