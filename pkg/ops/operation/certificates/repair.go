package certificates

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// Lost is what a repair writes down for an authority whose
// certificate is not known any more.
const Lost = "lost"

// Restore makes a lost certificate authority again. The key of the
// lost one is gone, so another takes its place. Where its certificate is known
// the members change over one by one, as in a rotation; otherwise nobody can
// reach them any more, and they restart together.
func Restore(p rules.Situation) *ops.Decision {
	trust := p.S.Kube.Trust
	if p.S.Cluster.Spec.TLS.Disabled || trust == nil || p.S.Operation.Spec.Quiet {
		return nil
	}
	switch lost := p.S.Operation.Spec.Authority; {
	case trust.Problem != "" && trust.Next == nil:
		return rules.Do(ops.Step{ID: "restore-authority", Action: ops.ActionRestoreCA, Risk: ops.RiskNone,
			Deadline: rules.WaitDeadline,
			Title:    "Make a certificate authority again", Reason: trust.Problem,
			Touches: []string{"secret/" + v1alpha1.CASecret(p.S.Cluster.Name)}})
	case lost == "":
	case lost == Lost:
		if d := resign(p, *trust); d != nil {
			return d
		}
		if d := distribute(p, *trust, "Let everybody trust "+trust.Current.Subject+" alone"); d != nil {
			return d
		}
		return atOnce(p)
	case trust.Next != nil:
		return trustBoth(p, *trust, newSigns)
	case trust.Current.Fingerprint != lost:
		return dropOld(p, *trust)
	}
	return nil
}

// Pin writes down whether a repair has to replace the authority: by
// the fingerprint of the one that members still trust, or by the pods that
// have to restart together.
func Pin(o *v1alpha1.OperationSpec, s ops.State) {
	if s.Kube.Trust == nil || s.Kube.Trust.Problem == "" {
		return
	}
	o.Rotation, o.Authority = v1alpha1.RotateAtOnce, Trusted(s)
	if o.Authority == "" {
		o.Authority, o.Pods = Lost, rules.PodsOf(s)
	}
}

// Trusted is the fingerprint of the authority that signed the certificates of
// the administrator and of every member; "" if they differ, or if a
// certificate or a member's workload is gone.
func Trusted(s ops.State) string {
	secrets := []string{v1alpha1.AdminSecret(s.Cluster.Name)}
	for _, name := range (rules.Situation{S: s}).Certified() {
		if !s.Kube.Member(name).Workload.Exists {
			return ""
		}
		secrets = append(secrets, v1alpha1.MemberSecret(name))
	}
	signer := ""
	for i, secret := range secrets {
		l, ok := s.Kube.Leaf(secret)
		if !ok || l.Problem != "" || i > 0 && l.Signer != signer {
			return ""
		}
		signer = l.Signer
	}
	return signer
}
