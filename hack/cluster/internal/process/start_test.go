package process

import (
	"errors"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

// TestStartFromOtherPrograms guards against a test binary that executes
// itself and so runs its tests over and over.
func TestStartFromOtherPrograms(t *testing.T) {
	if _, err := Start(site.Site{State: t.TempDir()}, Spec{Name: "x"}); !errors.Is(err, errNotHooked) {
		t.Errorf("got %v, want %v", err, errNotHooked)
	}
}
