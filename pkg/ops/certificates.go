package ops

import (
	"fmt"
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// certificates issues what a rotation is about, all of it observed: which
// certificate a secret holds, which one a member serves, which authorities its
// running process accepts. What runs out may have taken the quorum with it, so
// leaves are issued without asking the database anything.
func (p planner) certificates() *Decision {
	if p.s.verb() != v1alpha1.VerbRotateCertificates {
		return nil
	}
	if p.s.Cluster.Spec.TLS.Disabled {
		return block(&Error{Kind: Refused, Check: "plain-text", Message: p.s.Cluster.Name + " is served in plain text: there are no certificates",
			Hint: "TLS is chosen when a cluster is created"})
	}
	trust := p.s.Kube.Trust
	if trust == nil {
		return p.await("certificates", "the certificates were not looked at")
	}
	if trust.Problem != "" {
		return block(&Error{Kind: NeedsHuman, Check: "authority", Message: trust.Problem,
			Hint: "kubectl dbop repair " + p.s.Cluster.Name + " makes another one and has the members change over; or put secret " +
				v1alpha1.CASecret(p.s.Cluster.Name) + " back from a copy"})
	}
	if p.s.Operation.Spec.Rotation == v1alpha1.RotateLeaves {
		if p.s.cancelling() {
			return nil
		}
		if p.over(trust.Current.NotAfter) {
			return p.succeed(*trust) // what it signs would be over at once
		}
		return p.renewLeaves()
	}
	if p.s.Cluster.Spec.Stopped {
		return nil // stopping says so
	}
	return p.rotateAuthority(*trust)
}

// renewLeaves issues every certificate that the record names anew: the tool's
// own first, then one member's as a trial, then the others'. While a majority
// agrees, a member must serve its new one before the next gets its; without
// one there is nothing to lose, and nobody serves before all have theirs.
func (p planner) renewLeaves() *Decision {
	due := func(l kube.Certificate, exists bool) bool {
		old := p.s.Operation.Spec.Certificates[l.Secret]
		return !exists || l.Problem != "" || l.Fingerprint == old
	}
	// Between the halves of a rotation of the authority, clients keep theirs of the new one.
	admin, _ := p.s.Kube.Leaf(v1alpha1.AdminSecret(p.s.Cluster.Name))
	next := p.s.Kube.Trust.Next
	if d := p.renewUsers(due, next != nil && admin.Signer == next.Fingerprint); d != nil {
		return d
	}
	if d := p.renewMembers(p.s.View.Quorum, due, false); d != nil {
		return d
	}
	if p.s.Cluster.Spec.Stopped {
		return &Decision{Done: true}
	}
	if d := p.quorumFirst(); d != nil {
		return d
	}
	return p.renewMembers(true, due, false)
}

// renewUsers issues the certificates of the administrator and of applications.
func (p planner) renewUsers(due func(kube.Certificate, bool) bool, next bool) *Decision {
	c := p.s.Cluster.Name
	for _, secret := range []string{v1alpha1.AdminSecret(c), v1alpha1.ClientSecret(c)} {
		if l, ok := p.s.Kube.Leaf(secret); due(l, ok) {
			return p.renew(secret, "", next, "")
		}
	}
	return nil
}

// renewMembers issues members' certificates, and, if told to wait, sees each served.
func (p planner) renewMembers(wait bool, due func(kube.Certificate, bool) bool, next bool) *Decision {
	for _, member := range p.certified() {
		secret := v1alpha1.MemberSecret(member)
		l, ok := p.s.Kube.Leaf(secret)
		if due(l, ok) {
			return p.renew(secret, member, next, "it is read at the next handshake, without a restart")
		}
		if wait && !p.serves(member, l) {
			return p.renew(secret, member, next, member+" still serves the one before")
		}
	}
	return nil
}

// certified are the members that have, or should have, a certificate.
func (p planner) certified() []string {
	var out []string
	for _, m := range p.s.Kube.Members {
		if p.s.ours(m) {
			out = append(out, m.Name)
		}
	}
	return out
}

// serves reports whether a member shows that certificate. One whose pod does
// not run, or that does not answer for another reason, reads it when it can.
func (p planner) serves(member string, l kube.Certificate) bool {
	if pod := p.s.Kube.Member(member).Pod; !pod.Running || pod.Terminating {
		return true
	}
	shown := p.s.View.Member(member).Certificate
	return shown == nil || shown.Fingerprint == l.Fingerprint
}

func (p planner) renew(secret, member string, next bool, reason string) *Decision {
	s := Step{ID: "renew-certificate/" + secret, Action: ActionRenew, Secret: secret, NextCA: next, Risk: RiskNone, Deadline: mountDeadline,
		Title: "Issue the certificate in " + secret + " anew", Reason: reason, Touches: []string{"secret/" + secret}}
	if next {
		s.Title += ", by the new authority"
	}
	if member != "" {
		s.Members = []string{member}
	}
	return do(s)
}

// accepts reports whether the running process takes clients of exactly those
// authorities: it reads them once, when it starts.
func accepts(shown *engine.Presented, wanted []kube.Authority) bool {
	if shown == nil {
		return false
	}
	names := make([]string, len(wanted))
	for i, a := range wanted {
		names[i] = a.Subject
	}
	slices.Sort(names)
	return slices.Equal(shown.Accepts, names)
}

// sameAuthorities compares bundles, whatever their order.
func sameAuthorities(a, b []kube.Authority) bool {
	if len(a) != len(b) {
		return false
	}
	for _, x := range a {
		if !slices.ContainsFunc(b, func(y kube.Authority) bool { return x.Fingerprint == y.Fingerprint }) {
			return false
		}
	}
	return true
}

// distribute gives every certificate's secret the bundle that all are to trust.
func (p planner) distribute(trust kube.Trust, title string) *Decision {
	var behind, touches []string
	for _, l := range p.s.Kube.Leaves {
		if !sameAuthorities(l.Trusts, trust.Bundle()) {
			behind = append(behind, l.Secret)
			touches = append(touches, "secret/"+l.Secret)
		}
	}
	if len(behind) == 0 {
		return nil
	}
	return do(Step{ID: "distribute-trust", Action: ActionTrust, Risk: RiskNone, Deadline: stepDeadline, Title: title, Touches: touches,
		Reason: fmt.Sprintf("%d secrets hold another bundle", len(behind))})
}

// loaded restarts the members whose process accepts others than the bundle,
// one by one, the leader last; between two of them all must be healthy. Who
// all are is known of a majority only: without one nobody would be left to
// restart, and the next step would follow too early.
func (p planner) loaded(trust kube.Trust) *Decision {
	if d := p.quorumFirst(); d != nil {
		return d
	}
	var old []string
	for _, name := range p.voterNames() {
		if !accepts(p.s.View.Member(name).Certificate, trust.Bundle()) {
			old = append(old, name)
		}
	}
	if len(old) == 0 {
		return nil
	}
	if d := p.mayRestart(); d != nil {
		return d
	}
	for _, name := range p.voterNames() {
		if err := p.e.Health(p.s.View, name); err != nil {
			return p.gate("healthy", err, name)
		}
	}
	return p.inTurn(old, "the leader restarts last", func(next string, risk Risk) Step {
		return Step{ID: "restart-member/" + next, Action: ActionRestart, Members: []string{next}, Risk: risk, Deadline: waitDeadline,
			Title: "Restart " + next, Reason: "authorities are read at the start alone", Touches: []string{"pod/" + v1alpha1.PodName(next)}}
	})
}
