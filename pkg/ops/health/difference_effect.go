package health

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/drift"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// effect says what a difference does to the database, and whether it is grave:
// something does not work now, or will not after the next restart.
func effect(s ops.State, d drift.Difference) (string, bool) {
	switch {
	case Leaving(s, d):
		return "it goes with its data when the pod of " + d.Member + " stops", true
	case d.Kind == drift.Owner:
		return "Kubernetes deletes it together with its owner", true
	case d.Kind == drift.Finalizer:
		return "when it is deleted, it stays until that is removed", false
	case d.Kind == drift.Terminating && KindOf(d) != KindPod:
		return "it is made again once it is gone", true
	case d.Is("metadata.labels"):
		return "this tool, services and budgets find their objects by labels", true
	}
	if OfArchive(s, d) {
		return "the log may not be archived; members keep it, and their volumes fill up", true
	}
	switch KindOf(d) {
	case KindService:
		return serviceEffect(s, d)
	case KindBudget:
		return "draining nodes may take the quorum, or not go on", false
	case KindWorkload:
		return workloadEffect(d)
	case KindSecret:
		return secretEffect(s, d)
	case KindPod:
		return "it runs with something else than its StatefulSet says", true
	case KindVolume:
		return "the volume is not as the cluster wants it", false
	case KindCronJob:
		return "scheduled backups are taken in another way than asked for", true
	case KindAccount, KindRole, KindBinding:
		if !OfSchedule(d) {
			return "the agents can't lead clients to another primary, or have other rights too", true
		}
		return "scheduled backups may have too few rights, or too many", true
	}
	return "", false
}

func serviceEffect(s ops.State, d drift.Difference) (string, bool) {
	grave := d.Kind == drift.Missing || d.Is("spec.selector") || d.Is("spec.ports")
	if ObjectName(d) == v1alpha1.HeadlessService(s.Cluster.Name) {
		return "members find each other by this service, also after a restart", grave
	}
	return "clients reach the members by this service", grave
}

func workloadEffect(d drift.Difference) (string, bool) {
	switch {
	case d.Kind == drift.Missing:
		return "nothing makes its pod again", true
	case d.Is("spec.replicas") && d.Have == "0":
		return "the member has no pod", true
	case d.Is("spec.replicas"):
		return "several pods use one volume", true
	case d.Template():
		return "the member gets it when its pod is made again", true
	}
	return "", false
}

func secretEffect(s ops.State, d drift.Difference) (string, bool) {
	c := s.Cluster.Name
	if user := passwordOf(s, d); user != "" {
		return "nobody can log in as " + user, true
	}
	switch ObjectName(d) {
	case v1alpha1.CASecret(c):
		return "no member can be added and no certificate renewed", true
	case v1alpha1.AdminSecret(c):
		return "this tool can't log in", true
	case v1alpha1.ClientSecret(c):
		return "applications that use it can't start or connect", true
	}
	return "the member's pod can't start again", true
}
