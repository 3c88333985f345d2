package postgres

import (
	"slices"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// TestLoadCommand: the tool itself unpacks, in the image of the target version.
func TestLoadCommand(t *testing.T) {
	t.Parallel()
	got := New().LoadCommand(engine.LoadInput{Tool: "/dbop/tool", File: "/s/snapshot", DataDir: "/s/out"})
	want := []string{"/dbop/tool", "helper", "unpack", "--engine", Name, "--file", "/s/snapshot", "--to", "/s/out"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
