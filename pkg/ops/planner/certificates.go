package planner

import (
	"fmt"
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
)

// certificates issues what a rotation is about, all of it observed: which
// certificate a secret holds, which one a member serves, which authorities its
// running process accepts. What runs out may have taken the quorum with it, so
// leaves are issued without asking the database anything.
func (p Planner) certificates() *ops.Decision {
	if p.S.Verb() != v1alpha1.VerbRotateCertificates {
		return nil
	}
	if p.S.Cluster.Spec.TLS.Disabled {
		return block(&ops.Error{Kind: ops.Refused, Check: "plain-text", Message: p.S.Cluster.Name + " is served in plain text: there are no certificates",
			Hint: "TLS is chosen when a cluster is created"})
	}
	trust := p.S.Kube.Trust
	if trust == nil {
		return p.await("certificates", "the certificates were not looked at")
	}
	if trust.Problem != "" {
		return block(&ops.Error{Kind: ops.NeedsHuman, Check: "authority", Message: trust.Problem,
			Hint: "kubectl dbop repair " + p.S.Cluster.Name + " makes another one and has the members change over; or put secret " +
				v1alpha1.CASecret(p.S.Cluster.Name) + " back from a copy"})
	}
	if p.S.Operation.Spec.Rotation == v1alpha1.RotateLeaves {
		if p.S.Cancelling() {
			return nil
		}
		if p.over(trust.Current.NotAfter) {
			return p.succeed(*trust) // what it signs would be over at once
		}
		return p.renewLeaves()
	}
	if p.S.Cluster.Spec.Stopped {
		return nil // stopping says so
	}
	return p.rotateAuthority(*trust)
}

// renewLeaves issues every certificate that the record names anew: the tool's
// own first, then one member's as a trial, then the others'. While a majority
// agrees, a member must serve its new one before the next gets its; without
// one there is nothing to lose, and nobody serves before all have theirs.
func (p Planner) renewLeaves() *ops.Decision {
	due := func(l pki.Certificate, exists bool) bool {
		old := p.S.Operation.Spec.Certificates[l.Secret]
		return !exists || l.Problem != "" || l.Fingerprint == old
	}
	// Between the halves of a rotation of the authority, clients keep theirs of the new one.
	admin, _ := p.S.Kube.Leaf(v1alpha1.AdminSecret(p.S.Cluster.Name))
	next := p.S.Kube.Trust.Next
	if d := p.renewUsers(due, next != nil && admin.Signer == next.Fingerprint); d != nil {
		return d
	}
	if d := p.renewMembers(p.S.View.Quorum, due, false); d != nil {
		return d
	}
	if p.S.Cluster.Spec.Stopped {
		return &ops.Decision{Done: true}
	}
	if d := p.quorumFirst(); d != nil {
		return d
	}
	return p.renewMembers(true, due, false)
}

// renewUsers issues the certificates of the administrator and of applications.
func (p Planner) renewUsers(due func(pki.Certificate, bool) bool, next bool) *ops.Decision {
	c := p.S.Cluster.Name
	for _, secret := range []string{v1alpha1.AdminSecret(c), v1alpha1.ClientSecret(c)} {
		if l, ok := p.S.Kube.Leaf(secret); due(l, ok) {
			return p.renew(secret, "", next, "")
		}
	}
	return nil
}

// renewMembers issues members' certificates, and, if told to wait, sees each served.
func (p Planner) renewMembers(wait bool, due func(pki.Certificate, bool) bool, next bool) *ops.Decision {
	for _, member := range p.certified() {
		secret := v1alpha1.MemberSecret(member)
		l, ok := p.S.Kube.Leaf(secret)
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
func (p Planner) certified() []string {
	var out []string
	for _, m := range p.S.Kube.Members {
		if p.S.Ours(m) {
			out = append(out, m.Name)
		}
	}
	return out
}

// serves reports whether a member shows that certificate. One whose pod does
// not run, or that does not answer for another reason, reads it when it can.
func (p Planner) serves(member string, l pki.Certificate) bool {
	if pod := p.S.Kube.Member(member).Pod; !pod.Running || pod.Terminating {
		return true
	}
	shown := p.S.View.Member(member).Certificate
	return shown == nil || shown.Fingerprint == l.Fingerprint
}

func (p Planner) renew(secret, member string, next bool, reason string) *ops.Decision {
	s := ops.Step{ID: "renew-certificate/" + secret, Action: ops.ActionRenew, Secret: secret, NextCA: next, Risk: ops.RiskNone, Deadline: mountDeadline,
		Title: "Issue the certificate in " + secret + " anew", Reason: reason, Touches: []string{"secret/" + secret}}
	if next {
		s.Title += ", by the new authority"
	}
	if member != "" {
		s.Members = []string{member}
	}
	return do(s)
}

// SameAuthorities compares bundles, whatever their order.
func SameAuthorities(a, b []pki.Authority) bool {
	if len(a) != len(b) {
		return false
	}
	for _, x := range a {
		if !slices.ContainsFunc(b, func(y pki.Authority) bool { return x.Fingerprint == y.Fingerprint }) {
			return false
		}
	}
	return true
}

// distribute gives every certificate's secret the bundle that all are to trust.
func (p Planner) distribute(trust pki.Trust, title string) *ops.Decision {
	var behind, touches []string
	for _, l := range p.S.Kube.Leaves {
		if !SameAuthorities(l.Trusts, trust.Bundle()) {
			behind = append(behind, l.Secret)
			touches = append(touches, "secret/"+l.Secret)
		}
	}
	if len(behind) == 0 {
		return nil
	}
	return do(ops.Step{ID: "distribute-trust", Action: ops.ActionTrust, Risk: ops.RiskNone, Deadline: StepDeadline, Title: title, Touches: touches,
		Reason: fmt.Sprintf("%d secrets hold another bundle", len(behind))})
}

// loaded restarts the members whose process accepts others than the bundle,
// one by one, the leader last; between two of them all must be healthy. Who
// all are is known of a majority only: without one nobody would be left to
// restart, and the next step would follow too early.
func (p Planner) loaded(trust pki.Trust) *ops.Decision {
	if d := p.quorumFirst(); d != nil {
		return d
	}
	var old []string
	for _, name := range p.voterNames() {
		if !health.Accepts(p.S.View.Member(name).Certificate, trust.Bundle()) {
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
		if err := p.E.Health(p.S.View, name); err != nil {
			return p.gate("healthy", err, name)
		}
	}
	return p.inTurn(old, "the leader restarts last", func(next string, risk ops.Risk) ops.Step {
		return ops.Step{ID: "restart-member/" + next, Action: ops.ActionRestart, Members: []string{next}, Risk: risk, Deadline: WaitDeadline,
			Title: "Restart " + next, Reason: "authorities are read at the start alone", Touches: []string{"pod/" + v1alpha1.PodName(next)}}
	})
}
