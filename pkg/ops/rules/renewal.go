package rules

import (
	"slices"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// AuthorityOver reports whether the authority that signs the cluster's
// certificates was observed and ran out.
func AuthorityOver(s ops.State) bool {
	return s.Kube.Trust != nil && (Situation{S: s}).Over(s.Kube.Trust.Current.NotAfter)
}

// Renewal issues again what ran out while an operation is in flight. Who
// holds such a certificate is refused, the tool too, so the operation could
// neither go on nor be stepped back, and no other may begin. Nothing restarts
// for it, and an expired certificate is of use to nobody.
func (p Situation) Renewal() *ops.Decision {
	op, trust := p.S.Operation, p.S.Kube.Trust
	if op == nil || !p.writtenDown() || trust == nil || trust.Problem != "" || p.S.Cluster.Spec.TLS.Disabled {
		return nil
	}
	if op.Spec.Rotation == v1alpha1.RotateLeaves && !p.S.Cancelling() {
		return nil // it issues them all
	}
	certified := p.Certified()
	for _, l := range p.S.Kube.Leaves {
		signer, next := trust.Current, trust.Next != nil && l.Signer == trust.Next.Fingerprint
		if next {
			signer = *trust.Next
		}
		if !p.Over(l.NotAfter) || p.Over(signer.NotAfter) ||
			(l.Use == pki.UseMember && !slices.Contains(certified, l.Member)) {
			continue
		}
		return p.Renew(l.Secret, l.Member, next, "it ran out on "+ops.Moment(l.NotAfter)+
			", and everybody who holds it is refused")
	}
	return nil
}

// Over reports whether that moment has passed; none never does.
func (p Situation) Over(end time.Time) bool { return !end.IsZero() && !p.S.Now.Before(end) }

// Certified are the members that have, or should have, a certificate.
func (p Situation) Certified() []string {
	var out []string
	for _, m := range p.S.Kube.Members {
		if p.S.Ours(m) {
			out = append(out, m.Name)
		}
	}
	return out
}

// Renew issues the certificate in a secret again, of the authority that follows if next is set.
func (p Situation) Renew(secret, member string, next bool, reason string) *ops.Decision {
	s := ops.Step{ID: "renew-certificate/" + secret, Action: ops.ActionRenew, Secret: secret, NextCA: next,
		Risk: ops.RiskNone, Deadline: mountDeadline,
		Title: "Issue a new certificate in " + secret, Reason: reason, Touches: []string{"secret/" + secret}}
	if next {
		s.Title += ", by the new authority"
	}
	if member != "" {
		s.Members = []string{member}
	}
	return Do(s)
}
