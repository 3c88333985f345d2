package online

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// Stage is one operation of an upgrade, in the order of the constants.
type Stage string

// The stages.
const (
	// Prepare has the former cluster write its log so that it can be followed.
	Prepare Stage = "prepare"
	// Create makes the next cluster, which copies the former one and follows it.
	Create Stage = "create"
	// Adopt puts the next cluster under a custom resource, as the former one is.
	Adopt Stage = "adopt"
	// CutOver has the next cluster take writes, and prepares the way back.
	CutOver Stage = "cut over"
	// Redirect sends the clients of the former cluster to the next one.
	Redirect Stage = "redirect"
	// Follow has the former cluster follow the next one: the way back is open.
	Follow Stage = "follow"
	// Done: there is nothing left to do.
	Done Stage = ""
)

// Stages of going back, and of giving up the way back.
const (
	// CutBack has the former cluster take writes again.
	CutBack Stage = "cut back"
	// Return sends the clients to the former cluster again.
	Return Stage = "return"
	// Stop stops the former cluster, Finish has the next one keep nothing for it any more.
	Stop   Stage = "stop"
	Finish Stage = "finish"
)

// Pair is what is observed of the two clusters. Next.Cluster is nil before it is made.
type Pair struct {
	Engine       engine.Engine
	Former, Next ops.State
	// Name is what the next cluster is called, or will be; Version the one that it is to have.
	Name, Version string
}

// Forward is the stage that comes next on the way to the next cluster. A Refused *ops.Error says why there is none.
func Forward(p Pair) (Stage, error) {
	former, next := p.Former.Cluster, p.Next.Cluster
	followed, ok := p.Engine.(engine.Followed)
	switch {
	case !ok:
		return Done, refuse("clusters of "+p.Engine.Name()+" need no second cluster for another version",
			"kubectl dbop upgrade "+former.Name+" --version "+p.Version)
	case former.Spec.Direct():
		return Done, refuse(fmt.Sprintf("the clients of %s are led straight to its primary, and can't be sent elsewhere",
			former.Name), "first: kubectl dbop configure "+former.Name+" --routing proxied")
	case next == nil && former.Spec.RedirectTo != "":
		return Done, refuse(fmt.Sprintf("the clients of %s are sent to %s already", former.Name, former.Spec.RedirectTo),
			"kubectl dbop status "+former.Spec.RedirectTo)
	case next == nil && (p.preparing() != nil || len(followed.FollowedSettings(former.Spec)) > 0):
		return Prepare, nil
	case next == nil:
		return Create, nil
	}
	if err := p.related(); err != nil {
		return Done, err
	}
	if stage := p.inFlight(Prepare, Create, CutOver, Redirect, Follow); stage != Done {
		return stage, nil
	}
	switch {
	case next.Status.Bootstrap == nil || !p.Next.Formed():
		return Create, nil
	case former.Spec.RedirectTo == next.Name && p.Former.Kube.SentTo == next.Name:
		return p.open()
	case p.Next.View.Source != nil && p.unmanaged():
		return Adopt, nil
	case p.Next.View.Source != nil:
		return CutOver, nil
	case !p.takes():
		return Done, notKnown(next.Name)
	}
	return Redirect, nil
}

// After is what is known once the operation of a stage has succeeded, without observing again: while nobody can write,
// each second counts. The second value is false where both clusters must be observed again.
func (p Pair) After(done Stage) (Pair, bool) {
	switch done {
	case CutOver:
		p.Next.View.Source, p.Next.Operation = nil, nil
	case CutBack:
		p.Former.View.Source, p.Former.Operation = nil, nil
	default:
		return p, false
	}
	return p, true
}

// unmanaged says whether an operator has the former cluster and not the next one. While nobody can write, that waits.
func (p Pair) unmanaged() bool { return p.Former.Cluster.Managed() && !p.Next.Cluster.Managed() }

// open says whether the way back is open yet.
func (p Pair) open() (Stage, error) {
	switch {
	case p.unmanaged():
		return Adopt, nil
	case p.Former.Cluster.Spec.Stopped || p.Former.View.Source != nil && p.Former.View.Source.Following:
		return Done, nil
	case !p.leads(p.Former):
		return Done, notKnown(p.Former.Cluster.Name)
	}
	return Follow, nil
}

// Back is the stage that comes next on the way back. A Refused *ops.Error says why there is none.
func Back(p Pair) (Stage, error) {
	if p.Next.Cluster == nil {
		return Done, refuse("there is no cluster "+p.Name+" to go back from", "kubectl dbop list shows all")
	}
	if err := p.related(); err != nil {
		return Done, err
	}
	if stage := p.inFlight(CutBack, Return); stage != Done {
		return stage, nil
	}
	former := p.Former.Cluster
	switch {
	case former.Spec.RedirectTo == "" && p.Former.Kube.SentTo == "":
		if p.Next.View.Source != nil {
			return Done, refuse(fmt.Sprintf("the clients of %s never left it", former.Name),
				"go on with the upgrade, or delete the cluster "+p.Name)
		}
		return Done, nil
	case former.Spec.Stopped:
		return Done, refuse(former.Name+" is stopped, and lacks what was written since", "stay with "+p.Name)
	case p.Former.View.Source != nil:
		return CutBack, nil
	case !p.leads(p.Former):
		return Done, notKnown(former.Name)
	case p.closed():
		return Done, refuse(former.Name+" does not follow "+p.Name+", and lacks what was written since the cut over",
			fmt.Sprintf("kubectl dbop follow %s --cluster %s, if the cut over prepared that", former.Name, p.Name))
	}
	return Return, nil
}

// Ended is the stage that comes next to give up the way back.
func Ended(p Pair) (Stage, error) {
	if p.Next.Cluster == nil {
		return Done, refuse("there is no cluster "+p.Name, "kubectl dbop list shows all")
	}
	if err := p.related(); err != nil {
		return Done, err
	}
	if stage := p.inFlight(Stop, Finish); stage != Done {
		return stage, nil
	}
	switch {
	case p.Former.Cluster.Spec.RedirectTo != p.Next.Cluster.Name:
		return Done, refuse(fmt.Sprintf("the clients of %s have not moved to %s", p.Former.Cluster.Name, p.Name),
			fmt.Sprintf("kubectl dbop upgrade %s --online --version %s --into %s", p.Former.Cluster.Name,
				p.Next.Cluster.Spec.Version, p.Name))
	case !p.Former.Cluster.Spec.Stopped:
		return Stop, nil
	}
	return Finish, nil
}

// related refuses a cluster that has the name and is another one.
func (p Pair) related() error {
	switch next := p.Next.Cluster; {
	case next.Predecessor() != p.Former.Cluster.Name:
		return refuse(fmt.Sprintf("cluster %s exists, and is no copy of %s", next.Name, p.Former.Cluster.Name),
			"choose another name with --into")
	case p.Version != "" && next.Spec.Version != p.Version:
		return refuse(fmt.Sprintf("cluster %s is a copy of %s for version %s, not %s", next.Name, p.Former.Cluster.Name,
			next.Spec.Version, p.Version), "choose that version, or another name with --into")
	}
	return nil
}

// takes says whether the next cluster is known to take writes: its leader itself must say that it follows nobody.
func (p Pair) takes() bool { return p.leads(p.Next) && p.Next.View.Source == nil }

// closed says whether the former cluster lets nobody in.
func (p Pair) closed() bool {
	leader, _ := p.Former.View.Leader()
	return len(leader.Closed) > 0
}

// leads says whether the leader of a cluster answers.
func (Pair) leads(s ops.State) bool {
	leader, known := s.View.Leader()
	return known && leader.Reachable && s.View.Quorum
}

func refuse(message, hint string) error {
	return &ops.Error{Kind: ops.Refused, Check: "online", Message: message, Hint: hint}
}

func notKnown(name string) error {
	return refuse("the leader of "+name+" does not answer, so nobody knows whether it follows the other cluster",
		"kubectl dbop status "+name)
}

// Settings are what Prepare changes of the former cluster. One that is in flight is asked for again as it is: the
// record of the cluster has its options already.
func Settings(p Pair) *v1alpha1.SettingsChange {
	f, ok := p.Engine.(engine.Followed)
	if !ok {
		return nil
	}
	if change := p.preparing(); change != nil {
		return change.DeepCopy()
	}
	return &v1alpha1.SettingsChange{Set: f.FollowedSettings(p.Former.Cluster.Spec)}
}
