package certificates

import (
	"fmt"
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// Rotate renews certificates, or moves the cluster to another authority.
type Rotate struct{ rules.Plain }

// Traits implements rules.Operation.
func (Rotate) Traits() rules.Traits {
	return rules.Traits{Starts: true, Restarts: true, RenewsCertificates: true, ReadsCertificates: true}
}

// Manners implements rules.Operation.
func (Rotate) Manners() ops.Manners {
	return ops.Manners{
		StepsBack: ops.Anytime,
		Succeeds:  func(o v1alpha1.OperationSpec) bool { return o.Rotation == v1alpha1.RotateAtOnce },
		Same:      func(have, asked v1alpha1.OperationSpec) bool { return have.Rotation == asked.Rotation },
	}
}

// Resolve writes down which certificates, authority and pods there are, so that a repeat renews nothing twice.
func (Rotate) Resolve(_ engine.Engine, o *v1alpha1.OperationSpec, s ops.State) error {
	if s.Kube.Trust != nil {
		o.Authority = s.Kube.Trust.Current.Fingerprint
	}
	if o.Rotation == v1alpha1.RotateAtOnce && rules.AuthorityOver(s) {
		o.Pods = rules.PodsOf(s)
	}
	if o.Rotation == v1alpha1.RotateLeaves {
		o.Certificates = map[string]string{}
		for _, l := range s.Kube.Leaves {
			o.Certificates[l.Secret] = l.Fingerprint
		}
	}
	return nil
}

// Steps implements rules.Operation.
func (Rotate) Steps() rules.Steps { return rules.Steps{Stopped: certificates} }

// Undo implements rules.Operation.
func (Rotate) Undo(u *rules.Undoing) error {
	of := u.Of.Spec
	if of.Rotation != v1alpha1.RotateBegin {
		return rules.NoUndo(of.Cluster, "certificates and keys that were renewed do not come back",
			"kubectl dbop certificates rotate "+of.Cluster+" gives new ones")
	}
	u.Operation.Verb, u.Operation.Rotation = v1alpha1.VerbRotateCertificates, v1alpha1.RotateAbandon
	u.Title = "take the new authority away again"
	return nil
}

// certificates issues what a rotation is about, all of it observed: which
// certificate a secret holds, which one a member serves, which authorities its
// running process accepts. What runs out may have taken the quorum with it, so
// leaves are issued without asking the database anything.
func certificates(p rules.Situation) *ops.Decision {
	if p.S.Cluster.Spec.TLS.Disabled {
		return rules.Block(&ops.Error{Kind: ops.Refused, Check: "plain-text", Message: p.S.Cluster.Name +
			" is served in plain text: there are no certificates",
			Hint: "TLS is chosen when a cluster is created"})
	}
	trust := p.S.Kube.Trust
	if trust == nil {
		return p.Await("certificates", "the certificates were not observed")
	}
	if trust.Problem != "" {
		return rules.Block(&ops.Error{Kind: ops.NeedsHuman, Check: "authority", Message: trust.Problem,
			Hint: "kubectl dbop repair " + p.S.Cluster.Name +
				" makes another one and has the members change over; or put secret " +
				v1alpha1.CASecret(p.S.Cluster.Name) + " back from a copy"})
	}
	if p.S.Operation.Spec.Rotation == v1alpha1.RotateLeaves {
		if p.S.Cancelling() {
			return nil
		}
		if p.Over(trust.Current.NotAfter) {
			return succeed(p, *trust) // what it signs would be over at once
		}
		return renewLeaves(p)
	}
	if p.S.Cluster.Spec.Stopped {
		return nil // stopping says so
	}
	return rotateAuthority(p, *trust)
}

// renewLeaves issues every certificate that the record names again: the tool's
// own first, then one member's as a trial, then the others'. While a majority
// agrees, a member must serve its new one before the next gets its; without
// one there is nothing to lose, and nobody serves before all have theirs.
func renewLeaves(p rules.Situation) *ops.Decision {
	due := func(l pki.Certificate, exists bool) bool {
		old := p.S.Operation.Spec.Certificates[l.Secret]
		return !exists || l.Problem != "" || l.Fingerprint == old
	}
	// Between the halves of a rotation of the authority, clients keep theirs of the new one.
	admin, _ := p.S.Kube.Leaf(v1alpha1.AdminSecret(p.S.Cluster.Name))
	next := p.S.Kube.Trust.Next
	if d := renewUsers(p, due, next != nil && admin.Signer == next.Fingerprint); d != nil {
		return d
	}
	if d := renewMembers(p, p.S.View.Quorum, due, false); d != nil {
		return d
	}
	if p.S.Cluster.Spec.Stopped {
		return &ops.Decision{Done: true}
	}
	if d := p.QuorumFirst(); d != nil {
		return d
	}
	return renewMembers(p, true, due, false)
}

// renewUsers issues the certificates of the administrator and of applications.
func renewUsers(p rules.Situation, due func(pki.Certificate, bool) bool, next bool) *ops.Decision {
	c := p.S.Cluster.Name
	for _, secret := range []string{v1alpha1.AdminSecret(c), v1alpha1.ClientSecret(c)} {
		if l, ok := p.S.Kube.Leaf(secret); due(l, ok) {
			return p.Renew(secret, "", next, "")
		}
	}
	return nil
}

// renewMembers issues members' certificates, and, if told to wait, sees each served.
func renewMembers(p rules.Situation, wait bool, due func(pki.Certificate, bool) bool, next bool) *ops.Decision {
	for _, member := range p.Certified() {
		secret := v1alpha1.MemberSecret(member)
		l, ok := p.S.Kube.Leaf(secret)
		if due(l, ok) {
			return p.Renew(secret, member, next, "it is read at the next handshake, without a restart")
		}
		if wait && !serves(p, member, l) {
			return p.Renew(secret, member, next, member+" still serves the one before")
		}
	}
	return nil
}

// serves reports whether a member shows that certificate. One whose pod does
// not run, or that does not answer for another reason, reads it when it can.
func serves(p rules.Situation, member string, l pki.Certificate) bool {
	if pod := p.S.Kube.Member(member).Pod; !pod.Running || pod.Terminating {
		return true
	}
	shown := p.S.View.Member(member).Certificate
	return shown == nil || shown.Fingerprint == l.Fingerprint
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
func distribute(p rules.Situation, trust pki.Trust, title string) *ops.Decision {
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
	return rules.Do(ops.Step{ID: "distribute-trust", Action: ops.ActionTrust, Risk: ops.RiskNone,
		Deadline: rules.StepDeadline, Title: title, Touches: touches,
		Reason: fmt.Sprintf("%d secrets hold another bundle", len(behind))})
}

// loaded restarts the members whose process accepts others than the bundle,
// one by one, the leader last; between two of them all must be healthy. Who
// all are is known of a majority only: without one nobody would be left to
// restart, and the next step would follow too early.
func loaded(p rules.Situation, trust pki.Trust) *ops.Decision {
	if d := p.QuorumFirst(); d != nil {
		return d
	}
	var old []string
	for _, name := range p.VoterNames() {
		if !health.Accepts(p.S.View.Member(name).Certificate, trust.Bundle()) {
			old = append(old, name)
		}
	}
	if len(old) == 0 {
		return nil
	}
	if d := p.MayRestart(); d != nil {
		return d
	}
	for _, name := range p.VoterNames() {
		if err := p.E.Health(p.S.View, name); err != nil {
			return p.Gate("healthy", err, name)
		}
	}
	return p.InTurn(old, "the leader restarts last", func(next string, risk ops.Risk) ops.Step {
		return ops.Step{ID: "restart-member/" + next, Action: ops.ActionRestart, Members: []string{next}, Risk: risk,
			Deadline: rules.WaitDeadline,
			Title:    "Restart " + next, Reason: "authorities are read at the start alone",
			Touches: []string{"pod/" + v1alpha1.PodName(next)}}
	})
}
