package ops

import (
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// A joiner that has run for so long without a word hangs; one that has much to
// take in, before which it says nothing, is given a second more for each part.
const (
	hangPatience = 45 * time.Second
	joinPart     = 16 << 20
)

// revive restarts a joiner that hangs, once: it has no vote, so nothing is
// risked, and what it took in so far it takes in again.
func (p planner) revive(name string) *Decision {
	pod := p.s.Kube.Member(name).Pod
	if !p.hangs(pod) || p.revived(name, pod) {
		return nil
	}
	return do(Step{ID: string(ActionRevive) + "/" + name, Action: ActionRevive, Members: []string{name}, Risk: RiskRestart, Deadline: stepDeadline,
		Title: "Restart " + name + ", which hangs", Reason: "it runs and has not said a word for long; it has no vote, so nothing is risked",
		Touches: []string{"pod/" + v1alpha1.PodName(name)}})
}

// hangs reports whether a joiner's process runs, by the kubelet's word for
// long and without a crash, and yet was never ready.
func (p planner) hangs(pod kube.Pod) bool {
	if !pod.Running || pod.Ready || pod.Terminating || pod.Problem != nil || pod.Started.IsZero() {
		return false
	}
	patience := hangPatience
	if leader, ok := p.s.View.Leader(); ok {
		patience += time.Duration(leader.DataBytes/joinPart) * time.Second
	}
	return p.s.Now.Sub(pod.Started) > patience
}

// revived reports whether the pod is one that came after this operation's
// restart, as its journal says: the pod that was restarted was old by then.
func (p planner) revived(name string, pod kube.Pod) bool {
	if p.s.Operation == nil {
		return false
	}
	for _, e := range p.s.Operation.Status.Journal {
		if e.Step == string(ActionRevive)+"/"+name && pod.Created.After(e.StartedAt.Add(-hangPatience)) {
			return true
		}
	}
	return false
}
