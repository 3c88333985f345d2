package process

import (
	"testing"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

func TestEndNeedsARunningComponent(t *testing.T) {
	if err := End(t.Context(), site.Site{State: t.TempDir()}, "nobody"); err == nil {
		t.Error("a component that never started was ended")
	}
}
