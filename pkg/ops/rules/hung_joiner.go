package rules

import (
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// A joiner that has run for so long without a word hangs; one that has much to
// take in, before which it says nothing, is given a second more for each part.
const (
	hangLimit = 45 * time.Second
	joinPart  = 16 << 20
)

// revive restarts a joiner that hangs, once: it has no vote, so nothing is
// risked, and what it took in so far it takes in again.
func (p Situation) revive(name string) *ops.Decision {
	pod := p.S.Kube.Member(name).Pod
	if !p.hangs(pod) || p.revived(name, pod) {
		return nil
	}
	return Do(ops.Step{ID: string(ops.ActionRevive) + "/" + name, Action: ops.ActionRevive, Members: []string{name},
		Risk: ops.RiskRestart, Deadline: StepDeadline,
		Title:   "Restart " + name + ", which hangs",
		Reason:  "it runs and has not said a word for long; it has no vote, so nothing is risked",
		Touches: []string{"pod/" + v1alpha1.PodName(name)}})
}

// hangs reports whether a joiner's process runs, by the kubelet's word for
// long and without a crash, and yet was never ready.
func (p Situation) hangs(pod observe.Pod) bool {
	if !pod.Running || pod.Ready || pod.Terminating || pod.Problem != nil || pod.Started.IsZero() {
		return false
	}
	limit := hangLimit
	if leader, ok := p.S.View.Leader(); ok {
		limit += time.Duration(leader.DataBytes/joinPart) * time.Second
	}
	return p.S.Now.Sub(pod.Started) > limit
}

// revived reports whether the pod is one that came after this operation's
// restart, as its journal says: the pod that was restarted was old by then.
func (p Situation) revived(name string, pod observe.Pod) bool {
	if p.S.Operation == nil {
		return false
	}
	for _, e := range p.S.Operation.Status.Journal {
		if e.Step == string(ops.ActionRevive)+"/"+name && pod.Created.After(e.StartedAt.Add(-hangLimit)) {
			return true
		}
	}
	return false
}
