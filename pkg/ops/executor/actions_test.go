package executor

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// TestActions: each action can be performed, but the wait, which the loop does itself.
func TestActions(t *testing.T) {
	want := slices.DeleteFunc(opstest.Actions(t), func(a ops.Action) bool { return a == ops.ActionWait })
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys((&Executor{}).performers()))); diff != "" {
		t.Errorf("actions that are performed (-want +got):\n%s", diff)
	}
}
