package planner

import (
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// TestSpecAdvice: a custom resource is told which of its fields to correct, and
// no flag of the command line.
func TestSpecAdvice(t *testing.T) {
	t.Parallel()
	for kind, want := range map[observe.ProblemKind]string{
		observe.ProblemImage: "correct spec.image", observe.ProblemUnschedulable: "correct spec.resources",
		observe.ProblemDisk:     "raise spec.storage.size",
		observe.ProblemCrashing: "correct spec.config", observe.ProblemVolume: "kubectl describe pvc",
	} {
		for _, formed := range []bool{true, false} {
			s := opstest.Doing(opstest.Well(3), opstest.Operation(v1alpha1.VerbCreate), false)
			s.Cluster.Annotations = map[string]string{v1alpha1.AnnotationCustom: "uid"}
			if !formed {
				s.Cluster.Status.Bootstrap.ClusterID = ""
			}
			opstest.Down(&s, "db-3", kind, time.Hour)
			hint := For(opstest.Stub{}, s).Stuck("db-3", *s.Kube.Member("db-3").Pod.Problem).Hint
			if !strings.Contains(hint, want) || strings.Contains(hint, "--") || strings.Contains(hint, "dbop cancel") {
				t.Errorf("%s, formed %t: %q", kind, formed, hint)
			}
			if strings.Contains(hint, "delete the object") != (!formed && kind != observe.ProblemVolume) {
				t.Errorf("%s, formed %t: %q", kind, formed, hint)
			}
		}
	}
	s := opstest.Doing(opstest.Well(3), opstest.Operation(v1alpha1.VerbCreate), false)
	s.Cluster.Status.Bootstrap.ClusterID = ""
	opstest.Down(&s, "db-3", observe.ProblemImage, time.Hour)
	if hint := For(opstest.Stub{}, s).Stuck("db-3", *s.Kube.Member("db-3").Pod.Problem).Hint; !strings.Contains(hint,
		"--registry") {
		t.Errorf("without a custom resource: %q", hint)
	}
	stale := opstest.Wanted(1)
	stale.Cluster.Annotations = map[string]string{v1alpha1.AnnotationCustom: "uid"}
	AddMember(&stale, "db-1", false)
	stale.Kube.Members[0].Volume.Token = "former"
	if b := Decide(opstest.Stub{}, stale).Blocked; b == nil || b.Check != "stale-volume" ||
		strings.Contains(b.Hint, "add --discard-volumes") ||
		!strings.Contains(b.Hint, "kubectl dbop create db --engine stub --discard-volumes;") {
		t.Errorf("volumes of an earlier cluster: %+v", b)
	}
}
