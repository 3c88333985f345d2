package planner

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// TestPredictions: each action is predicted.
func TestPredictions(t *testing.T) {
	want := opstest.Actions(t)
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(predictions()))); diff != "" {
		t.Errorf("actions that are predicted (-want +got):\n%s", diff)
	}
}
