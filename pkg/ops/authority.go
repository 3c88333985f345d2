package ops

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// Which authorities a rotation wants to sign and be trusted in the end.
type signing int

const (
	oldSigns signing = iota
	bothTrusted
	newSigns
)

// aim is what the rotation in flight wants; stepping back is the way to where
// it came from.
func (p planner) aim() signing {
	back := p.s.cancelling()
	switch p.s.Operation.Spec.Rotation {
	case v1alpha1.RotateBegin:
		if back {
			return oldSigns
		}
		return bothTrusted
	case v1alpha1.RotateFinish:
		if back {
			return bothTrusted
		}
		return newSigns
	case v1alpha1.RotateAtOnce:
		if back {
			return oldSigns
		}
		return newSigns
	default:
		if back {
			return bothTrusted
		}
		return oldSigns
	}
}

// rotateAuthority moves a cluster from one authority to the next so that at no
// moment a member or a client that did its part meets a certificate that it
// does not trust: first everybody trusts both, then clients hold certificates
// of the new one, then members do, and only then the old one is dropped. Where
// it stands is seen in the secrets and at the members, so a repeat goes on.
func (p planner) rotateAuthority(trust kube.Trust) *Decision {
	over := trust.Current.Fingerprint != p.s.Operation.Spec.Authority
	switch aim := p.aim(); {
	case !over && p.over(trust.Current.NotAfter):
		return p.succeed(trust)
	case over && aim != newSigns:
		return block(&Error{Kind: Refused, Check: "rotation", Message: "the old authority is gone already: nothing is left to go back to",
			Hint: "finish it: kubectl dbop resume " + p.s.Cluster.Name})
	case over:
		return p.dropOld(trust)
	case aim == oldSigns:
		return p.withdraw(trust)
	case trust.Next == nil && p.s.Operation.Spec.Rotation == v1alpha1.RotateFinish:
		return block(&Error{Kind: Refused, Check: "rotation", Message: "no new authority was begun, so there is nothing to finish",
			Hint: "begin: kubectl dbop certificates rotate " + p.s.Cluster.Name + " --ca"})
	default:
		return p.trustBoth(trust, aim)
	}
}

// trustBoth is the first half, and, if the new authority is to take over, the
// second up to that moment.
func (p planner) trustBoth(trust kube.Trust, aim signing) *Decision {
	if trust.Next == nil {
		return p.begin()
	}
	if d := p.distribute(trust, "Let everybody trust both authorities"); d != nil {
		return d
	}
	if d := p.loaded(trust); d != nil {
		return d
	}
	if d := p.renewUsers(signedByOther(*trust.Next), true); d != nil {
		return d
	}
	if aim == bothTrusted {
		return p.renewMembers(true, signedByOther(trust.Current), false)
	}
	if d := p.renewMembers(true, signedByOther(*trust.Next), true); d != nil {
		return d
	}
	return p.promote(trust, "from here on clients that did not read their secret again are turned away")
}

func (p planner) promote(trust kube.Trust, reason string) *Decision {
	return do(Step{ID: "promote-authority", Action: ActionPromoteCA, Risk: RiskIrreversible, Deadline: stepDeadline,
		Title: "Let the new authority take over: " + trust.Next.Subject, Reason: reason, Touches: []string{"secret/" + v1alpha1.CASecret(p.s.Cluster.Name)}})
}

// begin puts a new authority beside the one that signs. Everybody will restart
// soon, so everybody must be well.
func (p planner) begin() *Decision {
	if d := p.mayRestart(); d != nil {
		return d
	}
	for _, name := range p.voterNames() {
		if err := p.e.Health(p.s.View, name); err != nil {
			return p.gate("healthy", err, name)
		}
	}
	return p.addAuthority()
}

func (p planner) addAuthority() *Decision {
	title, deadline := "Make a new authority beside the old one", stepDeadline
	if i := p.s.Cluster.Spec.TLS.Issuer; i != nil {
		title, deadline = fmt.Sprintf("Have %s sign a new authority beside the old one", i), waitDeadline
	}
	if own := p.s.Cluster.Spec.TLS.CASecret; own != "" {
		given := p.s.Kube.Trust.Given
		switch {
		case given == nil || p.s.Kube.Trust.GivenProblem != "":
			return block(&Error{Kind: Refused, Check: "authority", Message: p.s.Kube.Trust.GivenProblem, Hint: "put another authority into secret " + own + "; then repeat the command"})
		case given.Fingerprint == p.s.Kube.Trust.Current.Fingerprint:
			return block(&Error{Kind: Refused, Check: "authority", Message: "secret " + own + " holds the authority that signs already",
				Hint: "put the new one into it; then repeat the command"})
		}
		title = fmt.Sprintf("Put the authority in %s beside the old one", own)
	}
	return do(Step{ID: "add-authority", Action: ActionAddCA, Risk: RiskNone, Deadline: deadline, Title: title,
		Reason: "it signs nothing yet", Touches: []string{"secret/" + v1alpha1.CASecret(p.s.Cluster.Name)}})
}

// withdraw is the way back: what the new authority signed is signed by the old
// one again, and only then nobody trusts the new one any more.
func (p planner) withdraw(trust kube.Trust) *Decision {
	if trust.Next != nil {
		if d := p.renewMembers(true, signedByOther(trust.Current), false); d != nil {
			return d
		}
		if d := p.renewUsers(signedByOther(trust.Current), false); d != nil {
			return d
		}
		return do(Step{ID: "drop-authority", Action: ActionDropCA, Risk: RiskNone, Deadline: stepDeadline,
			Title: "Take the new authority away again", Touches: []string{"secret/" + v1alpha1.CASecret(p.s.Cluster.Name)}})
	}
	return p.dropOld(trust)
}

// dropOld leaves the one authority that signs, everywhere.
func (p planner) dropOld(trust kube.Trust) *Decision {
	if d := p.resign(trust); d != nil {
		return d
	}
	if d := p.distribute(trust, "Let everybody trust "+trust.Current.Subject+" alone"); d != nil {
		return d
	}
	if d := p.together(); d != nil {
		return d
	}
	return p.loaded(trust)
}

// signedByOther makes due what the given authority did not sign.
func signedByOther(a kube.Authority) func(kube.Certificate, bool) bool {
	return func(l kube.Certificate, exists bool) bool {
		return !exists || l.Problem != "" || l.Signer != a.Fingerprint
	}
}
