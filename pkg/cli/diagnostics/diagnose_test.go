package diagnostics_test

import (
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/observe"
)

func TestDiagnoseTellsByExitCode(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	b.Golden("diagnose", b.Run("diagnose"))
	b.Golden("diagnose_wide", b.Run("diagnose", "my-db", "-o", "wide"))
	b.Golden("diagnose_json", b.Run("diagnose", "-o", "json"))
	if len(b.Writes) > 0 {
		t.Errorf("it wrote: %v", b.Writes)
	}
	b.Cluster.Facts.Members[1].Volume = observe.Volume{}
	if r := b.Run("diagnose"); r.Code != exit.Degraded ||
		!strings.Contains(r.Out, "do:   kubectl dbop -n shop member replace my-db my-db-2") {
		t.Errorf("exit %d\n%s", r.Code, r.Out)
	}
	b.Cluster.Facts = observe.Facts{}
	b.Cluster.View.Quorum = false
	if r := b.Run("diagnose"); r.Code != exit.Down || !strings.Contains(r.Out, "lost, permanent") {
		t.Errorf("exit %d\n%s", r.Code, r.Out)
	}
	if r := b.Run("diagnose", "nope"); r.Code != exit.NotFound || !strings.Contains(r.Err, "not found") {
		t.Errorf("exit %d\n%s", r.Code, r.Err)
	}
}
