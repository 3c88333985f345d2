package certificates

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

// succeed lets another authority take the place of one that ran out. Who
// holds a certificate of that is refused already, members among them, so
// there is no order to be kept, and nobody to be asked for a quorum.
func succeed(p rules.Situation, trust pki.Trust) *ops.Decision {
	c := p.S.Cluster.Name
	switch {
	case p.S.Cancelling():
		return rules.Block(&ops.Error{Kind: ops.Refused, Check: "rotation", Message: "the authority " +
			trust.Current.Subject + " ran out: there is nothing to go back to",
			Hint: "go on: kubectl dbop resume " + c})
	case p.S.Operation.Spec.Rotation != v1alpha1.RotateAtOnce:
		return rules.Block(&ops.Error{Kind: ops.Refused, Check: "rotation",
			Message: "the authority " + trust.Current.Subject + " ran out on " + ops.Moment(trust.Current.NotAfter) +
				": everybody who holds a certificate of it is refused, so nobody can be spared",
			Hint: "replace it and restart all members together: kubectl dbop certificates rotate " + c + " --ca=at-once"})
	case trust.Next == nil:
		return addAuthority(p)
	}
	return promote(p, trust, "the one before ran out, and lets nobody in")
}

// resign has every certificate issued by the successor of an authority that
// ran out. A rotation in time has done so before.
func resign(p rules.Situation, trust pki.Trust) *ops.Decision {
	due := signedByOther(trust.Current)
	if d := renewUsers(p, due, false); d != nil {
		return d
	}
	return renewMembers(p, false, due, false)
}

// atOnce restarts all members that ran under an authority that ran out: those
// that trust it and those that trust its successor refuse each other, also
// once a majority is back. Their pods were written down for that case alone.
func atOnce(p rules.Situation) *ops.Decision {
	for _, name := range p.Certified() {
		pod := p.S.Kube.Member(name).Pod
		if uid := p.S.Operation.Spec.Pods[name]; uid == "" || !pod.Exists || pod.UID != uid {
			continue
		}
		return rules.Do(ops.Step{ID: "restart-member/" + name, Action: ops.ActionRestart, Members: []string{name},
			Risk: ops.RiskDowntime, Deadline: rules.WaitDeadline,
			Title:   "Restart " + name,
			Reason:  "authorities are read at the start alone, and members of two authorities refuse each other",
			Touches: []string{"pod/" + v1alpha1.PodName(name)}})
	}
	return nil
}
