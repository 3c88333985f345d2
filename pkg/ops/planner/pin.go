package planner

import (
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
)

// Pin writes down what only a look at the running cluster shows, and what the
// operation itself is about to change.
func Pin(e engine.Engine, o *v1alpha1.OperationSpec, s ops.State) error {
	switch o.Verb {
	case v1alpha1.VerbRecover:
		return pinRecovery(e, o, s)
	case v1alpha1.VerbCompact, v1alpha1.VerbClearAlarms:
		return pinHorizon(e, o, s.View)
	case v1alpha1.VerbSwitchover:
		if l, ok := s.View.Leader(); ok {
			o.Leader = l.Name
		}
	case v1alpha1.VerbRestart:
		o.Pods = podsOf(s)
	case v1alpha1.VerbDelete:
		o.Unused = unused(s)
	case v1alpha1.VerbRemoveMember:
		for _, r := range health.UnknownMembers(s) {
			if r.ID == o.Member {
				o.Member = r.Name
			}
		}
	case v1alpha1.VerbRepair:
		if !o.Quiet {
			o.Pods = wrongPods(s)
			pinAuthority(o, s)
		}
	case v1alpha1.VerbRotateCertificates:
		if s.Kube.Trust != nil {
			o.Authority = s.Kube.Trust.Current.Fingerprint
		}
		if o.Rotation == v1alpha1.RotateAtOnce && AuthorityOver(s) {
			o.Pods = podsOf(s)
		}
		if o.Rotation == v1alpha1.RotateLeaves {
			o.Certificates = map[string]string{}
			for _, l := range s.Kube.Leaves {
				o.Certificates[l.Secret] = l.Fingerprint
			}
		}
	case v1alpha1.VerbReplaceMember:
		entry, ok := s.View.Registered(o.Member)
		if s.View.Quorum && !ok {
			return &engine.Refusal{Check: "member", Unknown: true, Reason: fmt.Sprintf("%s is no member of %s", o.Member, o.Cluster), Hint: "kubectl dbop status " + o.Cluster + " names them"}
		}
		o.MemberID = entry.ID
	}
	return nil
}

// podsOf are the UIDs, by member, of the cluster's pods.
func podsOf(s ops.State) map[string]string {
	out := map[string]string{}
	for _, m := range s.Kube.Members {
		if m.Pod.Exists && s.Ours(m) {
			out[m.Name] = m.Pod.UID
		}
	}
	return out
}
