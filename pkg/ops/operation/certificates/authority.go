package certificates

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
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
func aim(p rules.Situation) signing {
	back := p.S.Cancelling()
	switch p.S.Operation.Spec.Rotation {
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
// it is is seen in the secrets and at the members, so a repeat goes on.
func rotateAuthority(p rules.Situation, trust pki.Trust) *ops.Decision {
	over := trust.Current.Fingerprint != p.S.Operation.Spec.Authority
	switch aim := aim(p); {
	case !over && p.Over(trust.Current.NotAfter):
		return succeed(p, trust)
	case over && aim != newSigns:
		return rules.Block(&ops.Error{Kind: ops.Refused, Check: "rotation",
			Message: "the old authority is gone already: nothing is left to go back to",
			Hint:    "finish it: kubectl dbop resume " + p.S.Cluster.Name})
	case over:
		return dropOld(p, trust)
	case aim == oldSigns:
		return withdraw(p, trust)
	case trust.Next == nil && p.S.Operation.Spec.Rotation == v1alpha1.RotateFinish:
		return rules.Block(&ops.Error{Kind: ops.Refused, Check: "rotation",
			Message: "no change of the authority was started, so there is nothing to finish",
			Hint:    "begin: kubectl dbop certificates rotate " + p.S.Cluster.Name + " --ca"})
	default:
		return trustBoth(p, trust, aim)
	}
}

// trustBoth is the first half, and, if the new authority is to take over, the
// second up to that moment.
func trustBoth(p rules.Situation, trust pki.Trust, aim signing) *ops.Decision {
	if trust.Next == nil {
		return begin(p)
	}
	if d := distribute(p, trust, "Let everybody trust both authorities"); d != nil {
		return d
	}
	if d := loaded(p, trust); d != nil {
		return d
	}
	if d := renewUsers(p, signedByOther(*trust.Next), true); d != nil {
		return d
	}
	if aim == bothTrusted {
		return renewMembers(p, true, signedByOther(trust.Current), false)
	}
	if d := renewMembers(p, true, signedByOther(*trust.Next), true); d != nil {
		return d
	}
	return promote(p, trust, "from here on clients that did not read their secret again are refused")
}

func promote(p rules.Situation, trust pki.Trust, reason string) *ops.Decision {
	return rules.Do(ops.Step{ID: "promote-authority", Action: ops.ActionPromoteCA, Risk: ops.RiskIrreversible,
		Deadline: rules.StepDeadline,
		Title:    "Let the new authority take over: " + trust.Next.Subject, Reason: reason,
		Touches: []string{"secret/" + v1alpha1.CASecret(p.S.Cluster.Name)}})
}

// begin puts a new authority beside the one that signs. Everybody will restart
// soon, so everybody must be well.
func begin(p rules.Situation) *ops.Decision {
	if d := p.MayRestart(); d != nil {
		return d
	}
	for _, name := range p.VoterNames() {
		if err := p.E.Health(p.S.View, name); err != nil {
			return p.Gate("healthy", err, name)
		}
	}
	return addAuthority(p)
}

func addAuthority(p rules.Situation) *ops.Decision {
	title, deadline := "Make a new authority beside the old one", rules.StepDeadline
	if i := p.S.Cluster.Spec.TLS.Issuer; i != nil {
		title, deadline = fmt.Sprintf("Have %s sign a new authority beside the old one", i), rules.WaitDeadline
	}
	if own := p.S.Cluster.Spec.TLS.CASecret; own != "" {
		given := p.S.Kube.Trust.Given
		switch {
		case given == nil || p.S.Kube.Trust.GivenProblem != "":
			return rules.Block(&ops.Error{Kind: ops.Refused, Check: "authority", Message: p.S.Kube.Trust.GivenProblem,
				Hint: "put another authority into secret " + own + "; then repeat the command"})
		case given.Fingerprint == p.S.Kube.Trust.Current.Fingerprint:
			return rules.Block(&ops.Error{Kind: ops.Refused, Check: "authority", Message: "secret " + own +
				" holds the authority that signs already",
				Hint: "put the new one into it; then repeat the command"})
		}
		title = fmt.Sprintf("Put the authority in %s beside the old one", own)
	}
	return rules.Do(ops.Step{ID: "add-authority", Action: ops.ActionAddCA, Risk: ops.RiskNone, Deadline: deadline,
		Title:  title,
		Reason: "it signs nothing yet", Touches: []string{"secret/" + v1alpha1.CASecret(p.S.Cluster.Name)}})
}

// withdraw is the way back: what the new authority signed is signed by the old
// one again, and only then nobody trusts the new one any more.
func withdraw(p rules.Situation, trust pki.Trust) *ops.Decision {
	if trust.Next != nil {
		if d := renewMembers(p, true, signedByOther(trust.Current), false); d != nil {
			return d
		}
		if d := renewUsers(p, signedByOther(trust.Current), false); d != nil {
			return d
		}
		return rules.Do(ops.Step{ID: "drop-authority", Action: ops.ActionDropCA, Risk: ops.RiskNone,
			Deadline: rules.StepDeadline,
			Title:    "Take the new authority away again",
			Touches:  []string{"secret/" + v1alpha1.CASecret(p.S.Cluster.Name)}})
	}
	return dropOld(p, trust)
}

// dropOld leaves the one authority that signs, everywhere.
func dropOld(p rules.Situation, trust pki.Trust) *ops.Decision {
	if d := resign(p, trust); d != nil {
		return d
	}
	if d := distribute(p, trust, "Let everybody trust "+trust.Current.Subject+" alone"); d != nil {
		return d
	}
	if d := atOnce(p); d != nil {
		return d
	}
	return loaded(p, trust)
}

// signedByOther makes due what the given authority did not sign.
func signedByOther(a pki.Authority) func(pki.Certificate, bool) bool {
	return func(l pki.Certificate, exists bool) bool {
		return !exists || l.Problem != "" || l.Signer != a.Fingerprint
	}
}
