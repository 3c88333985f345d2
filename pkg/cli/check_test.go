package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/version"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

// checked runs check with a server of a minor that fits.
func (b *bench) checked(args ...string) result {
	b.t.Helper()
	b.server = &version.Info{Major: "1", Minor: itoa(builtFor), GitVersion: "v1." + itoa(builtFor) + ".0"}
	return b.run(append([]string{"check"}, args...)...)
}

func TestCheckSaysWhatIsMissing(t *testing.T) {
	b := newBench(t)
	if r := b.checked(); r.code != ExitDone || !strings.Contains(r.out, "\n0 failed, 0 warnings, ") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	b.site.Namespace.Exists = false
	b.site.Classes = kube.Classes{Unknown: "you may not list storageclasses.storage.k8s.io"}
	b.site.Missing = []kube.Right{{Verb: "create", Group: "apps", Resource: "statefulsets", Role: "dbop-operate"}, {Verb: "create", Resource: "secrets", Role: "dbop-operate"}}
	b.golden("check", b.checked("--repository", "pvc:backups"))
	if r := b.checked("-o", "json"); r.code != ExitDegraded || !strings.Contains(r.out, `"kind": "Check"`) || !strings.Contains(r.out, `"severity": "FAIL"`) {
		t.Errorf("exit %d\n%s", r.code, r.out)
	}
	if len(b.writes) > 0 {
		t.Errorf("it wrote: %v", b.writes)
	}
}

func TestCheckDiagnosesTheNamedCluster(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	if r := b.checked("my-db"); r.code != ExitDone || !strings.Contains(r.out, "member my-db-1") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	b.world.facts.Foreign = []string{"service/my-db"}
	if r := b.checked("my-db"); r.code != ExitDegraded {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
}

func TestCheckWithoutAServer(t *testing.T) {
	b := newBench(t)
	b.serverErr = &kube.UnreachableError{Server: "https://k8s", Err: errors.New("connection refused")}
	r := b.run("check", "my-db")
	if r.code != ExitDegraded || !strings.Contains(r.out, "can't be reached") || !strings.Contains(r.out, "do:   check the address") || strings.Contains(r.out, "rights") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
}

func TestCheckLeavesNothingInTheRepository(t *testing.T) {
	b := newBench(t)
	dir := filepath.Join(b.dir, "deep", "backups")
	if r := b.checked("--repository", "dir:"+dir); r.code != ExitDone || !strings.Contains(r.out, "can be written") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	entries, err := os.ReadDir(b.dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left %v, %v", entries, err)
	}
	if r := b.checked("--repository", "dir:"+filepath.Join(b.dir, "kubeconfig")); r.code != ExitDegraded || !strings.Contains(r.out, "is not a directory") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
}
