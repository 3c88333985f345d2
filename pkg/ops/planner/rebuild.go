package planner

import (
	"fmt"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/pki"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/operation/certificates"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/rules"
)

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
			Message: fmt.Sprintf("the record of %s (configmap %s) is damaged, and can't be written from what is there: %s",
				cluster, v1alpha1.Record(cluster), k.Problem),
			Hint: fmt.Sprintf("put the configmap back from a copy; kubectl get sts,pvc -n %s -l %s=%s shows what is there",
				namespace, v1alpha1.LabelCluster, cluster)}
	case len(k.Workloads)+len(k.Volumes) == 0:
		return nil
	case k.Problem != "":
		return &ops.Error{Kind: ops.NeedsHuman, Check: "record-missing",
			Message: fmt.Sprintf("the record of %s (configmap %s) is missing, and can't be written from what is there: %s",
				cluster, v1alpha1.Record(cluster), k.Problem),
			Hint: fmt.Sprintf("put the configmap back from a copy; kubectl get sts,pvc -n %s -l %s=%s shows what is there",
				namespace, v1alpha1.LabelCluster, cluster)}
	case k.Lost():
		return rules.RecordMissing(cluster)
	}
	return &ops.Error{Kind: ops.Failed, Check: "volumes-kept",
		Message: fmt.Sprintf("cluster %s not found in namespace %s; these volumes of it are kept: %s", cluster, namespace,
			strings.Join(k.Volumes, ", ")),
		Hint: fmt.Sprintf("start its members on them again: kubectl dbop create %s --from-volumes", cluster)}
}

// restoredAuthority is the state once the authority's secret was made again.
func restoredAuthority(s *ops.State) {
	t := pki.Trust{Given: s.Kube.Trust.Given, GivenProblem: s.Kube.Trust.GivenProblem}
	next, lost := pki.Authority{Fingerprint: "predicted-authority", Subject: "the new authority"},
		s.Operation.Spec.Authority
	if t.Given != nil {
		next = *t.Given
	}
	t.Current = next
	if lost != certificates.Lost && next.Fingerprint != lost {
		t.Current, t.Next, t.Problem = pki.Authority{Fingerprint: lost, Subject: "the lost authority"}, &next,
			"it has no key"
	}
	s.Kube.Trust = &t
}
