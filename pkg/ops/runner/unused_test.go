package runner

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// TestDeleteDropsUnusedVolumes, of a cluster that never formed and of which no
// member ever ran, and keeps all others.
func TestDeleteDropsUnusedVolumes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*ops.State)
		want   []string
	}{
		"none ever ran":     {func(*ops.State) {}, []string{"db-1", "db-2", "db-3"}},
		"one ran":           {func(s *ops.State) { s.Kube.Members[1].Unused = false }, nil},
		"it formed":         {func(s *ops.State) { s.Cluster.Status.Bootstrap.ClusterID = "id" }, nil},
		"a member answered": {func(s *ops.State) { s.View.ClusterIDs = []string{"id"} }, nil},
		"it holds a backup": {func(s *ops.State) { s.Cluster.Status.Bootstrap.Loaded = true }, nil},
		"another's volume":  {func(s *ops.State) { s.Kube.Members[0].Volume.Token = "former" }, []string{"db-2", "db-3"}},
	} {
		s := opstest.Wanted(3)
		s.Operation = nil
		for i, m := range []string{"db-1", "db-2", "db-3"} {
			planner.AddMember(&s, m, true)
			s.Kube.Members[i].Unused = true
		}
		c.change(&s)
		onShelf(t, func(sh *shelf, r *Runner) {
			sh.cluster = s.Cluster.DeepCopy()
			w := newIdeal(s)
			r.Cluster = func(string, string) ops.ClosableCluster { return shelved{w, sh} }
			op, err := r.Run(context.Background(), "shop", planner.Request{Operation: v1alpha1.OperationSpec{Cluster: "db",
				Verb: v1alpha1.VerbDelete, Waive: []string{"backup"}}})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if diff := cmp.Diff(c.want, op.Spec.Unused); diff != "" ||
				slices.Contains(w.performed, "delete-volumes") != (c.want != nil) {
				t.Errorf("%s: %v (-want +got):\n%s", name, w.performed, diff)
			}
		})
	}
}
