package health

import (
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/drift"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
)

// ArchiveRepository is the repository that takes the log of a cluster; "" for none.
func ArchiveRepository(e engine.Engine, s ops.State) string {
	a, ok := e.(engine.LogArchiver)
	if !ok || s.Cluster == nil {
		return ""
	}
	return a.ArchiveRepository(s.Cluster.Spec)
}

// ArchiveInterval is how often a file of the archived log is complete at least; "" for whenever one is full.
func ArchiveInterval(e engine.Engine, s ops.State) string {
	a, ok := e.(engine.LogArchiver)
	if !ok || s.Cluster == nil {
		return ""
	}
	return a.ArchiveInterval(s.Cluster.Spec)
}

// ArchivedUntil is the time of the last commit that the archive has without a gap, in whole seconds as archives keep
// it; zero if nobody knows. The leader alone is asked: what another member had archived may be of a history that was
// given up.
func ArchivedUntil(s ops.State) time.Time {
	leader, leads := s.View.Leader()
	if !leads {
		return time.Time{}
	}
	return leader.ArchivedUntil.UTC().Truncate(time.Second)
}

// OfArchive reports whether a difference is of what archives the log. The archive is made again as a whole.
func OfArchive(s ops.State, d drift.Difference) bool {
	return d.Object == KindWorkload+"/"+v1alpha1.Archive(s.Cluster.Name)
}

// archiveProblem is why the pod that archives the log does not run; "" if none is wanted, or nothing is known.
func archiveProblem(e engine.Engine, s ops.State) string {
	if ArchiveRepository(e, s) == "" || s.Cluster.Spec.Stopped {
		return ""
	}
	pod := v1alpha1.PodName(v1alpha1.Archive(s.Cluster.Name))
	for _, h := range s.Kube.Helpers {
		if h.Name == pod && h.Problem != nil {
			return "the log is not archived: pod " + pod + ": " + string(h.Problem.Kind) + ": " + h.Problem.Message
		}
	}
	return ""
}

// archive tells of a log that is not archived.
func (a *assessment) archive() {
	if p := archiveProblem(a.e, a.s); p != "" {
		a.problem("%s", p)
	}
}
