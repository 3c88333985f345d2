package process

import (
	"syscall"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

func TestSignalNeedsARunningComponent(t *testing.T) {
	if err := Signal(site.Site{State: t.TempDir()}, "nobody", syscall.SIGCONT); err == nil {
		t.Error("a component that never started took a signal")
	}
}
