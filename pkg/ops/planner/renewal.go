package planner

import (
	"slices"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// renewal issues anew what ran out while an operation is in flight. Whoever
// holds such a certificate is turned away, the tool too, so the operation could
// neither go on nor be stepped back, and no other may begin. Nothing restarts
// for it, and an expired certificate is of use to nobody.
func (p Planner) renewal() *ops.Decision {
	op, trust := p.S.Operation, p.S.Kube.Trust
	if op == nil || !p.writtenDown() || trust == nil || trust.Problem != "" || p.S.Cluster.Spec.TLS.Disabled {
		return nil
	}
	if op.Spec.Verb == v1alpha1.VerbRotateCertificates && op.Spec.Rotation == v1alpha1.RotateLeaves && !p.S.Cancelling() {
		return nil // it issues them all
	}
	certified := p.certified()
	for _, l := range p.S.Kube.Leaves {
		signer, next := trust.Current, trust.Next != nil && l.Signer == trust.Next.Fingerprint
		if next {
			signer = *trust.Next
		}
		if !p.over(l.NotAfter) || p.over(signer.NotAfter) || (l.Use == pki.UseMember && !slices.Contains(certified, l.Member)) {
			continue
		}
		return p.renew(l.Secret, l.Member, next, "it ran out on "+ops.Moment(l.NotAfter)+", and whoever holds it is turned away")
	}
	return nil
}

// over reports whether that moment has passed; none never does.
func (p Planner) over(end time.Time) bool { return !end.IsZero() && !p.S.Now.Before(end) }
