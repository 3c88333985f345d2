package planner

import (
	"fmt"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/health"
)

// LostAuthority is what a repair writes down for an authority whose
// certificate is not known any more.
const LostAuthority = "lost"

// Missing says what to do about a cluster whose record is missing or damaged:
// nil if there is nothing of it at all.
func Missing(namespace, cluster string, k store.Kept) *ops.Error {
	switch {
	case k.Damaged != nil && k.Record != nil:
		return &ops.Error{Kind: ops.Refused, Check: "record-damaged",
			Message: "cluster " + cluster, Err: k.Damaged,
			Hint: fmt.Sprintf("write it again from what is there: kubectl dbop repair %s", cluster)}
	case k.Damaged != nil:
		return &ops.Error{Kind: ops.NeedsHuman, Check: "record-damaged",
			Message: fmt.Sprintf("the record of %s (configmap %s) is damaged, and can't be written from what is there: %s", cluster, v1alpha1.Record(cluster), k.Problem),
			Hint:    fmt.Sprintf("put the configmap back from a copy; kubectl get sts,pvc -n %s -l %s=%s shows what is there", namespace, v1alpha1.LabelCluster, cluster)}
	case len(k.Workloads)+len(k.Volumes) == 0:
		return nil
	case k.Problem != "":
		return &ops.Error{Kind: ops.NeedsHuman, Check: "record-missing",
			Message: fmt.Sprintf("the record of %s (configmap %s) is missing, and can't be written from what is there: %s", cluster, v1alpha1.Record(cluster), k.Problem),
			Hint:    fmt.Sprintf("put the configmap back from a copy; kubectl get sts,pvc -n %s -l %s=%s shows what is there", namespace, v1alpha1.LabelCluster, cluster)}
	case k.Lost():
		return recordMissing(cluster)
	}
	return &ops.Error{Kind: ops.Failed, Check: "volumes-kept",
		Message: fmt.Sprintf("cluster %s not found in namespace %s; these volumes of it are kept: %s", cluster, namespace, strings.Join(k.Volumes, ", ")),
		Hint:    fmt.Sprintf("start its members on them again: kubectl dbop create %s --from-volumes", cluster)}
}

// recordMissing is the answer to every command on a cluster whose record is
// lost while its members run.
func recordMissing(cluster string) *ops.Error {
	return &ops.Error{Kind: ops.Refused, Check: "record-missing",
		Message: fmt.Sprintf("the record of %s (configmap %s) is missing, its members still run", cluster, v1alpha1.Record(cluster)),
		Hint:    fmt.Sprintf("write it again from what is there: kubectl dbop repair %s", cluster)}
}

// rebuilding makes again what was lost of a cluster, for a repair: its record,
// then its services and its certificate authority with what that signs. Other
// objects and the members follow. Each step is seen in what is there, so a repeat
// goes on.
func (p Planner) rebuilding() *ops.Decision {
	if p.S.Verb() != v1alpha1.VerbRepair || p.S.Cancelling() {
		return nil
	}
	if c := p.S.Cluster; c.DeletionTimestamp != nil {
		return block(&ops.Error{Kind: ops.NeedsHuman, Check: "record-terminating", Message: health.RecordEnding(c),
			Hint: strings.Join(health.EndRecord(c), "; then: ")})
	}
	if p.S.Cluster.ResourceVersion == "" {
		return do(ops.Step{ID: "write-record", Action: ops.ActionWriteRecord, Risk: ops.RiskNone, Deadline: StepDeadline,
			Title: "Write the record of the cluster again", Reason: "it is missing; the volume claims hold a copy of it",
			Touches: []string{"configmap/" + v1alpha1.Record(p.S.Cluster.Name)}})
	}
	if !p.S.Formed() {
		return nil
	}
	if !p.S.Kube.Services {
		return p.services()
	}
	return p.restoringAuthority()
}

// restoringAuthority makes a lost certificate authority again. The key of the
// lost one is gone, so another takes its place. Where its certificate is known
// the members change over one by one, as in a rotation; otherwise nobody can
// reach them any more, and they restart together.
func (p Planner) restoringAuthority() *ops.Decision {
	trust := p.S.Kube.Trust
	if p.S.Cluster.Spec.TLS.Disabled || trust == nil || p.S.Operation.Spec.Quiet {
		return nil
	}
	switch lost := p.S.Operation.Spec.Authority; {
	case trust.Problem != "" && trust.Next == nil:
		return do(ops.Step{ID: "restore-authority", Action: ops.ActionRestoreCA, Risk: ops.RiskNone, Deadline: WaitDeadline,
			Title: "Make a certificate authority again", Reason: trust.Problem, Touches: []string{"secret/" + v1alpha1.CASecret(p.S.Cluster.Name)}})
	case lost == "":
	case lost == LostAuthority:
		if d := p.resign(*trust); d != nil {
			return d
		}
		if d := p.distribute(*trust, "Let everybody trust "+trust.Current.Subject+" alone"); d != nil {
			return d
		}
		return p.together()
	case trust.Next != nil:
		return p.trustBoth(*trust, newSigns)
	case trust.Current.Fingerprint != lost:
		return p.dropOld(*trust)
	}
	return nil
}

// pinAuthority writes down whether a repair has to replace the authority: by
// the fingerprint of the one that members still trust, or by the pods that
// have to restart together.
func pinAuthority(o *v1alpha1.OperationSpec, s ops.State) {
	if s.Kube.Trust == nil || s.Kube.Trust.Problem == "" {
		return
	}
	o.Rotation, o.Authority = v1alpha1.RotateAtOnce, Trusted(s)
	if o.Authority == "" {
		o.Authority, o.Pods = LostAuthority, podsOf(s)
	}
}

// restoredAuthority is the state once the authority's secret was made again.
func restoredAuthority(s *ops.State) {
	t := pki.Trust{Given: s.Kube.Trust.Given, GivenProblem: s.Kube.Trust.GivenProblem}
	next, lost := pki.Authority{Fingerprint: "predicted-authority", Subject: "the new authority"}, s.Operation.Spec.Authority
	if t.Given != nil {
		next = *t.Given
	}
	t.Current = next
	if lost != LostAuthority && next.Fingerprint != lost {
		t.Current, t.Next, t.Problem = pki.Authority{Fingerprint: lost, Subject: "the lost authority"}, &next, "it has no key"
	}
	s.Kube.Trust = &t
}

// Trusted is the fingerprint of the authority that signed the certificates of
// the administrator and of every member; "" if they differ, or if a
// certificate or a member's workload is gone.
func Trusted(s ops.State) string {
	secrets := []string{v1alpha1.AdminSecret(s.Cluster.Name)}
	for _, name := range (Planner{S: s}).certified() {
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
