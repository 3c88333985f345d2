package cli

import (
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

func TestDiagnoseTellsByExitCode(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	b.golden("diagnose", b.run("diagnose"))
	b.golden("diagnose_wide", b.run("diagnose", "my-db", "-o", "wide"))
	b.golden("diagnose_json", b.run("diagnose", "-o", "json"))
	if len(b.writes) > 0 {
		t.Errorf("it wrote: %v", b.writes)
	}
	b.world.facts.Members[1].Volume = kube.Volume{}
	if r := b.run("diagnose"); r.code != ExitDegraded || !strings.Contains(r.out, "do:   kubectl dbop -n shop replace-member my-db my-db-2") {
		t.Errorf("exit %d\n%s", r.code, r.out)
	}
	b.world.facts = kube.Facts{}
	b.world.view.Quorum = false
	if r := b.run("diagnose"); r.code != ExitDown || !strings.Contains(r.out, "lost, permanent") {
		t.Errorf("exit %d\n%s", r.code, r.out)
	}
	if r := b.run("diagnose", "nope"); r.code != ExitNotFound || !strings.Contains(r.err, "not found") {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
}
