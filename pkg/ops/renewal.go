package ops

import (
	"slices"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// renewal issues anew what ran out while an operation is in flight. Whoever
// holds such a certificate is turned away, the tool too, so the operation could
// neither go on nor be stepped back, and no other may begin. Nothing restarts
// for it, and an expired certificate is of use to nobody.
func (p planner) renewal() *Decision {
	op, trust := p.s.Operation, p.s.Kube.Trust
	if op == nil || !p.writtenDown() || trust == nil || trust.Problem != "" || p.s.Cluster.Spec.TLS.Disabled {
		return nil
	}
	if op.Spec.Verb == v1alpha1.VerbRotateCertificates && op.Spec.Rotation == v1alpha1.RotateLeaves && !p.s.cancelling() {
		return nil // it issues them all
	}
	certified := p.certified()
	for _, l := range p.s.Kube.Leaves {
		signer, next := trust.Current, trust.Next != nil && l.Signer == trust.Next.Fingerprint
		if next {
			signer = *trust.Next
		}
		if !p.over(l.NotAfter) || p.over(signer.NotAfter) || (l.Use == kube.UseMember && !slices.Contains(certified, l.Member)) {
			continue
		}
		return p.renew(l.Secret, l.Member, next, "it ran out on "+moment(l.NotAfter)+", and whoever holds it is turned away")
	}
	return nil
}

// over reports whether that moment has passed; none never does.
func (p planner) over(end time.Time) bool { return !end.IsZero() && !p.s.Now.Before(end) }
